/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "config.h"

#include <assert.h>
#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>
#include <unistd.h>

#include "agent/base/clock.h"
#include "agent/base/directory.h"
#include "agent/base/log.h"
#include "agent/conf/conf.h"
#include "agent/track/curvature.h"
#include "agent/track/modelfile.h"
#include "agent/track/track_private.h"

/* From the configuration to a node that takes part. */

#define COARSER_MAX 3u

/* A frame is asked for again so often within the time it is waited for. */
#define RESENDS	      8u
#define RESEND_NS_MAX 1000000000ull

/* Frames of one neighbour that are not sent yet: one of data is all there is, and an answer. */
#define QUEUE_MESSAGES 2u

static struct iso_stream_config stream_of(const struct plan *plan, uint32_t params)
{
	struct iso_stream_config stream = {
		.mode = (enum iso_stream_mode)(plan->quantiser + 1),
		.n = params,
		.bits = (unsigned)plan->bits,
		.rho = plan->rho,
		.step = plan->uniform_step,
	};

	/* As coarse as the stream allows. */
	while (plan->adaptive && stream.coarser < COARSER_MAX) {
		stream.coarser++;
		if (iso_stream_check(&stream) == ISO_OK)
			continue;
		stream.coarser--;
		break;
	}
	return stream;
}

static int check_names(const struct track *track, struct error *reterr)
{
	const struct track_config *config = &track->config;

	if (plan_find(&track->plan, config->name) < 0)
		return error_set(reterr, -ENOENT, "plan '%.120s' has no node %s", config->plan,
				 config->name);
	for (uint32_t i = 0; i < config->neighbours_count; i++) {
		const char *name = config->neighbours[i].name;

		if (plan_find(&track->plan, name) < 0)
			return error_set(reterr, -ENOENT,
					 "plan '%.120s' has no node %s, a "
					 "neighbour",
					 config->plan, name);
		if (strcmp(name, config->name) == 0)
			return error_set(reterr, -EINVAL, "neighbour %s is this node itself", name);
	}
	return 0;
}

static int open_local(struct track *track, struct error *reterr)
{
	int node = plan_find(&track->plan, track->config.name);
	int r = local_open(&track->plan, (uint32_t)node, track->config.data, &track->local, reterr);

	if (r < 0)
		return error_wrap(reterr, "plan '%.120s'", track->config.plan);
	if (track->local.params > ISO_PEER_PARAMS_MAX)
		return error_set(reterr, -E2BIG,
				 "the model has %u parameters, at most %u can be "
				 "learnt by a plan",
				 track->local.params, ISO_PEER_PARAMS_MAX);
	double bound = curvature_of(&track->local);
	if (!(bound > 0) || !isfinite(bound))
		return error_set(reterr, -EDOM, "the data have no finite size");
	if (probe_open(track->local.params, bound, &track->probe) < 0)
		return error_errno(reterr, -ENOMEM, "model");
	track->plan_digest = plan_digest(&track->plan, track->config.data->checksum);
	log_info("plan '%s': node %s, part %d of %u with %u samples, model %s of %u parameters, "
		 "quantiser %s, digest %016llx",
		 track->plan.name, track->config.name, node + 1, track->plan.nodes_count,
		 track->local.samples_count, plan_model_text(&track->plan), track->local.params,
		 plan_quantiser_text(&track->plan), (unsigned long long)track->plan_digest);
	return gradient_open(&track->local, (uint32_t)track->plan.batch,
			     (uint64_t)track->plan.seed * PLAN_NODES_MAX + (uint64_t)node,
			     track->config.pool, &track->gradient, reterr);
}

static int open_evaluation(struct track *track, struct error *reterr)
{
	struct evaluation_config config = { .data = &track->test, .model = &track->local.model };

	if (track->plan.evaluate_every_ns == 0)
		return 0;
	int r = dataset_open(track->config.data_spec, DATASET_TEST, &track->test, reterr);
	if (r < 0)
		return error_wrap(reterr, "test data (evaluate-every = off needs none)");
	track->rounded = calloc(track->local.params, sizeof(*track->rounded));
	if (track->rounded == NULL)
		return error_errno(reterr, -ENOMEM, "evaluation");
	return evaluation_open(&config, &track->evaluation, reterr);
}

static int open_folder(const struct track *track, struct error *reterr)
{
	const char *folder = track->config.state_directory;

	if (folder == NULL) {
		log_info("the model is not kept: no state directory");
		return 0;
	}
	int r = directory_make(folder, 0755, reterr);
	if (r == 0 && access(folder, W_OK) < 0)
		r = error_errno(reterr, -errno, "write to '%.200s'", folder);
	return r < 0 ? error_wrap(reterr, "state directory") : 0;
}

static bool is_same_shape(const struct iso_model *a, const struct iso_model *b)
{
	return a->kind == b->kind && a->features == b->features && a->classes == b->classes &&
	       a->hidden == b->hidden;
}

static int take_saved(struct track *track, double *ret_y, uint64_t *ret_round, struct error *reterr)
{
	struct modelfile file = { 0 };
	const char *folder = track->config.state_directory;
	int r = modelfile_read(folder, &file, reterr);

	if (r < 0)
		return r;
	if (!is_same_shape(&file.model, &track->local.model)) {
		r = error_set(reterr, -EINVAL,
			      "'%.200s/model' is of another model than the plan's; move it away to "
			      "start anew",
			      folder);
	} else {
		memcpy(ret_y, file.params, track->local.params * sizeof(*ret_y));
		/* Rounds of another plan are no rounds of this one. */
		*ret_round = file.plan == track->plan_digest ? file.round : 0;
		log_info("going on from '%s/model' of round %llu%s", folder,
			 (unsigned long long)file.round,
			 file.plan == track->plan_digest ? "" : ", of another plan");
	}
	free(file.params);
	return r;
}

int track_first_params(struct track *track, double *ret_y, uint64_t *ret_round,
		       struct error *reterr)
{
	uint32_t params = track->local.params;

	if (track->config.state_directory != NULL) {
		int r = take_saved(track, ret_y, ret_round, reterr);

		if (r != -ENOENT)
			return r;
	}
	float *first = calloc(params, sizeof(*first));
	if (first == NULL)
		return error_errno(reterr, -ENOMEM, "model");
	iso_model_init(&track->local.model, (uint64_t)track->plan.seed, first);
	for (uint32_t i = 0; i < params; i++)
		ret_y[i] = (double)first[i];
	free(first);
	*ret_round = 0;
	return 0;
}

/* Tells this start from any earlier one. */
static uint64_t draw_boot(void)
{
	uint64_t boot = 0;

	while (boot == 0)
		if (getrandom(&boot, sizeof(boot), 0) != (ssize_t)sizeof(boot))
			boot = clock_now_ns(); /* an early boot of the machine: unlike enough */
	return boot;
}

static struct iso_peer_config peer_config(const struct track *track,
					  const uint64_t ids[LINK_NEIGHBOURS_MAX])
{
	const struct plan *plan = &track->plan;
	uint64_t resend_ns = plan->wait_ns / RESENDS;

	return (struct iso_peer_config){
		.plan = track->plan_digest,
		.node = conf_node_id(plan->name, track->config.name),
		.neighbours = ids,
		.neighbour_count = track->config.neighbours_count,
		.boot = draw_boot(),
		.stream = stream_of(plan, track->local.params),
		.step = plan->step,
		.alpha = plan->alpha,
		.rounds = (uint64_t)plan->rounds,
		.wait_ns = plan->wait_ns,
		.drop_ns = plan->drop_ns,
		.resend_ns = resend_ns < RESEND_NS_MAX ? resend_ns : RESEND_NS_MAX,
	};
}

static int open_peer(struct track *track, uint64_t now_ns, struct error *reterr)
{
	uint64_t ids[LINK_NEIGHBOURS_MAX];
	double *y = calloc(track->local.params, sizeof(*y));

	for (uint32_t i = 0; i < track->config.neighbours_count; i++)
		ids[i] = conf_node_id(track->plan.name, track->config.neighbours[i].name);
	const struct iso_peer_config config = peer_config(track, ids);
	size_t size = iso_peer_size(&config);
	if (size == 0) {
		free(y);
		return error_set(reterr, -EINVAL,
				 "plan '%.120s': quantiser, step or alpha are "
				 "out of range",
				 track->config.plan);
	}
	track->memory = calloc(1, size);
	int r = y == NULL || track->memory == NULL ? error_errno(reterr, -ENOMEM, "model") : 0;
	if (r == 0)
		r = track_first_params(track, y, &track->first_round, reterr);
	track->saved_round = track->first_round;
	if (r == 0 && iso_peer_init(track->memory, size, &config, y, track->first_round, now_ns,
				    &track->peer) != ISO_OK)
		r = error_set(reterr, -EINVAL, "plan '%.120s' cannot be followed",
			      track->config.plan);
	free(y);
	return r;
}

static int open_link(struct track *track, void *zmq_context, uint64_t now_ns, struct error *reterr)
{
	const struct iso_stream_config stream = stream_of(&track->plan, track->local.params);
	const struct track_config *from = &track->config;
	/* A snapshot has both vectors as doubles. */
	size_t snapshot = 2 * sizeof(double) * (size_t)track->local.params;
	size_t coded = 2 * iso_stream_bytes_max(&stream);
	const struct link_config config = {
		.listen = from->listen,
		.keys = from->keypair,
		.limits = { .message_bytes_max =
				(snapshot > coded ? snapshot : coded) + ISO_PEER_HEAD_BYTES,
			    .queue_messages = QUEUE_MESSAGES },
		.neighbours = from->neighbours,
		.neighbour_count = from->neighbours_count,
		.down_after_ns = track->plan.drop_ns,
		.parts_fn = track_on_frame,
		.context = track,
	};
	int r = link_open(&config, zmq_context, track->loop, now_ns, &track->link, reterr);

	if (r == 0)
		log_info("listening for %u neighbour%s at %s", from->neighbours_count,
			 from->neighbours_count == 1 ? "" : "s", link_address(track->link));
	return r;
}

static int open_all(struct track *track, void *zmq_context, struct error *reterr)
{
	uint64_t now_ns = clock_now_ns();
	int r = plan_load(track->config.plan, &track->plan, reterr);

	if (r == 0)
		r = check_names(track, reterr);
	if (r == 0)
		r = open_local(track, reterr);
	if (r == 0)
		r = open_evaluation(track, reterr);
	if (r == 0)
		r = open_folder(track, reterr);
	if (r == 0)
		r = open_peer(track, now_ns, reterr);
	if (r == 0)
		r = open_link(track, zmq_context, now_ns, reterr);
	if (r < 0)
		return r;
	track->timer.fd = timer_open();
	r = track->timer.fd < 0 ? track->timer.fd : loop_add(track->loop, &track->timer);
	if (r < 0)
		return error_errno(reterr, r, "timer");
	track->started_ns = now_ns;
	track->evaluate_at_ns =
	    track->evaluation != NULL ? now_ns + track->plan.evaluate_every_ns : UINT64_MAX;
	track->save_at_ns = track->config.state_directory != NULL && track->plan.save_every_ns != 0
				? now_ns + track->plan.save_every_ns
				: UINT64_MAX;
	track->end_at_ns = UINT64_MAX;
	track_act(track, now_ns);
	return 0;
}

int track_open(void *zmq_context, struct loop *loop, const struct track_config *config,
	       struct track **ret_track, struct error *reterr)
{
	struct track *track = calloc(1, sizeof(*track));

	if (track == NULL)
		return error_errno(reterr, -ENOMEM, "training");
	assert(config->neighbours_count <= LINK_NEIGHBOURS_MAX);
	track->config = *config;
	track->loop = loop;
	track->timer = (struct loop_source){ .fd = -1, .events = ZMQ_POLLIN, .fn = track_on_timer };
	for (uint32_t i = 0; i < config->neighbours_count; i++)
		snprintf(track->edges[i].name, sizeof(track->edges[i].name), "%s",
			 config->neighbours[i].name);
	int r = open_all(track, zmq_context, reterr);
	if (r < 0) {
		track_close(track);
		return r;
	}
	*ret_track = track;
	return 0;
}

struct track *track_close(struct track *track)
{
	if (track == NULL)
		return NULL;
	if (track->link != NULL)
		track_save(track);
	loop_remove(track->loop, &track->timer);
	if (track->timer.fd >= 0)
		close(track->timer.fd);
	link_close(track->link);
	evaluation_close(track->evaluation);
	dataset_close(&track->test);
	gradient_close(track->gradient);
	probe_close(&track->probe);
	local_close(&track->local);
	free(track->memory);
	free(track->rounded);
	free(track);
	return NULL;
}
