# What touches the world: six programs and the folders they are made of.
#
#   base     errors, log, the loop that waits, clock, drawings, files that stay whole
#   conf     configuration files
#   control  the socket for people, and what is said there
#   net      keys, the allow-list, links between agents
#   cgroup   the limit            meter  what the job really uses
#   admin    the registry and what is done with it: budget, members, burials
#   guard    what lowers the limit when a lease ends, and the agent's way to it
#   node     journal, job, worker and trade brought together: isobard
#   train    coordinator and workers
#   track    workers that learn together without a coordinator
#   ctl      the commands of isobarctl
#   export   what all agents of a machine say, as metrics and as a page
#   sim      those of isobar-sim
#
# libagent.a is shared by the programs and the tests.
noinst_LIBRARIES += %D%/libagent.a
%C%_libagent_a_SOURCES = \
	%D%/admin/cluster_conf.c %D%/admin/cluster_conf.h \
	%D%/admin/drive.c %D%/admin/drive.h \
	%D%/admin/entry.c %D%/admin/entry.h \
	%D%/admin/office.c %D%/admin/office.h \
	%D%/admin/registry_file.c %D%/admin/registry_file.h \
	%D%/base/clock.h \
	%D%/base/directory.c %D%/base/directory.h \
	%D%/base/error.c %D%/base/error.h \
	%D%/base/gnuplot.c %D%/base/gnuplot.h \
	%D%/base/hostfacts.c %D%/base/hostfacts.h \
	%D%/base/log.c %D%/base/log.h \
	%D%/base/loop.c %D%/base/loop.h \
	%D%/base/output.c %D%/base/output.h \
	%D%/base/sandbox.c %D%/base/sandbox.h \
	%D%/base/sandbox_calls.c %D%/base/sandbox_calls.h \
	%D%/base/service.c %D%/base/service.h \
	%D%/base/user.c %D%/base/user.h \
	%D%/base/wholefile.c %D%/base/wholefile.h \
	%D%/cgroup/cgroup.c %D%/cgroup/cgroup.h %D%/cgroup/cgroup_internal.h \
	%D%/cgroup/cgroup_create.c \
	%D%/cgroup/cgroup_file.c \
	%D%/cgroup/cgroup_library.c %D%/cgroup/cgroup_library.h \
	%D%/cgroup/cgroup_limits.c \
	%D%/cgroup/cgroup_lock.c \
	%D%/cgroup/cgroup_manage.c \
	%D%/cgroup/cgroup_processes.c \
	%D%/cgroup/cgroup_saved.c \
	%D%/cgroup/cgroup_tasks.c \
	%D%/cgroup/cgroup_v1.c \
	%D%/cgroup/cgroup_v2.c \
	%D%/cgroup/cgroup_write.c \
	%D%/cgroup/delegated.c %D%/cgroup/delegated.h \
	%D%/cgroup/limit_file.c %D%/cgroup/limit_file.h \
	%D%/cgroup/mounts.c %D%/cgroup/mounts.h \
	%D%/cgroup/unit.c %D%/cgroup/unit.h \
	%D%/cgroup/unitbus.c %D%/cgroup/unitbus.h \
	%D%/cgroup/unitdropin.c %D%/cgroup/unitdropin.h \
	%D%/cgroup/unitsaved.c %D%/cgroup/unitsaved.h \
	%D%/conf/allocation.c %D%/conf/allocation.h \
	%D%/conf/conf.c %D%/conf/conf.h \
	%D%/conf/conf_schema.c \
	%D%/conf/confcheck.c %D%/conf/confcheck.h \
	%D%/conf/confcheck_limits.c \
	%D%/conf/confcheck_training.c \
	%D%/conf/confplace.c %D%/conf/confplace.h \
	%D%/conf/confscan.c %D%/conf/confscan.h \
	%D%/conf/confutil.c %D%/conf/confutil.h \
	%D%/conf/confvalue.c %D%/conf/confvalue.h \
	%D%/conf/reload.c %D%/conf/reload.h \
	%D%/control/control.c %D%/control/control.h \
	%D%/control/controlcall.c \
	%D%/control/controlsock.c %D%/control/controlsock.h \
	%D%/control/dispatch.c \
	%D%/control/opjson.c %D%/control/opjson.h \
	%D%/control/printable.c %D%/control/printable.h \
	%D%/control/status.c %D%/control/status.h \
	%D%/control/statusledger.c \
	%D%/control/statusprint.c \
	%D%/control/trust.c %D%/control/trust.h \
	%D%/ctl/preflight.c %D%/ctl/preflight.h \
	%D%/ctl/preflightfiles.c %D%/ctl/preflightfiles.h \
	%D%/ctl/preflightguard.c %D%/ctl/preflightguard.h \
	%D%/ctl/preflighthost.c %D%/ctl/preflighthost.h \
	%D%/ctl/preflightjob.c %D%/ctl/preflightjob.h \
	%D%/ctl/preflightmeter.c %D%/ctl/preflightmeter.h \
	%D%/ctl/preflightnet.c %D%/ctl/preflightnet.h \
	%D%/ctl/preflightsandbox.c %D%/ctl/preflightsandbox.h \
	%D%/ctl/preflightworker.c %D%/ctl/preflightworker.h \
	%D%/export/chart.c %D%/export/chart.h \
	%D%/export/collect.c %D%/export/collect.h \
	%D%/export/history.c %D%/export/history.h \
	%D%/export/html.c %D%/export/html.h \
	%D%/export/metrics.c %D%/export/metrics.h \
	%D%/export/metrics_family.c %D%/export/metrics_family.h \
	%D%/export/page.c %D%/export/page.h \
	%D%/export/page_node.c \
	%D%/export/page_style.c \
	%D%/export/verdict.c %D%/export/verdict.h \
	%D%/export/watch.c %D%/export/watch.h \
	%D%/guard/confine.c %D%/guard/confine.h \
	%D%/guard/guard.c %D%/guard/guard.h %D%/guard/guard_private.h %D%/guard/guard_wire.h \
	%D%/guard/guard_client.c %D%/guard/guard_client.h \
	%D%/guard/guard_spawn.c %D%/guard/guard_spawn.h \
	%D%/guard/guard_start.c \
	%D%/guard/guard_talk.c %D%/guard/guard_talk.h \
	%D%/guard/keeper.c %D%/guard/keeper.h \
	%D%/guard/watchdog.c %D%/guard/watchdog.h \
	%D%/meter/cpuclock.c %D%/meter/cpuclock.h \
	%D%/meter/meter.c %D%/meter/meter.h \
	%D%/meter/meter_census.c %D%/meter/meter_census.h \
	%D%/meter/meter_ebpf.c %D%/meter/meter_ebpf.h \
	%D%/meter/meter_kernel.c %D%/meter/meter_kernel.h \
	%D%/meter/meter_missing.c %D%/meter/meter_missing.h \
	%D%/meter/procuse.c %D%/meter/procuse.h \
	%D%/net/admin.c %D%/net/admin.h \
	%D%/net/admin_call.c %D%/net/admin_call.h \
	%D%/net/curve.c %D%/net/curve.h \
	%D%/net/detour.h \
	%D%/net/link.c %D%/net/link.h %D%/net/link_private.h \
	%D%/net/link_socket.c %D%/net/link_socket.h \
	%D%/net/link_watch.c \
	%D%/net/zap.c %D%/net/zap.h \
	%D%/node/crash.h \
	%D%/node/handover.c %D%/node/handover.h \
	%D%/node/host.c %D%/node/host.h \
	%D%/node/host_arguments.c %D%/node/host_arguments.h \
	%D%/node/job.c %D%/node/job.h %D%/node/job_private.h \
	%D%/node/job_ceiling.c \
	%D%/node/job_facts.c %D%/node/job_facts.h \
	%D%/node/job_limit.c \
	%D%/node/job_meter.c \
	%D%/node/job_unit.c \
	%D%/node/journal.c %D%/node/journal.h \
	%D%/node/node.c %D%/node/node.h %D%/node/node_private.h \
	%D%/node/node_admin.c \
	%D%/node/node_conf.c \
	%D%/node/node_disk.c \
	%D%/node/node_history.c \
	%D%/node/node_net.c \
	%D%/node/node_ops.c \
	%D%/node/node_reload.c \
	%D%/node/node_standing.c \
	%D%/node/node_status.c \
	%D%/node/node_tick.c \
	%D%/node/node_trust.c \
	%D%/node/peers.c %D%/node/peers.h \
	%D%/sim/scenario.c %D%/sim/scenario.h \
	%D%/sim/scenario_schema.c \
	%D%/sim/train.h \
	%D%/sim/train_data.c %D%/sim/train_data.h \
	%D%/sim/train_machine.c %D%/sim/train_machine.h \
	%D%/sim/train_plot.c \
	%D%/sim/train_print.c \
	%D%/sim/train_problem.c %D%/sim/train_problem.h \
	%D%/sim/train_run.c \
	%D%/sim/train_theory.c \
	%D%/sim/train_world.c %D%/sim/train_world.h \
	%D%/track/curvature.c %D%/track/curvature.h \
	%D%/track/gradient.c %D%/track/gradient.h \
	%D%/track/local.c %D%/track/local.h \
	%D%/track/modelfile.c %D%/track/modelfile.h \
	%D%/track/plan.c %D%/track/plan.h \
	%D%/track/plan_options.c \
	%D%/track/probe.c %D%/track/probe.h \
	%D%/track/track.c %D%/track/track.h %D%/track/track_private.h \
	%D%/track/track_open.c \
	%D%/track/track_report.c \
	%D%/train/blas.c %D%/train/blas.h \
	%D%/train/checkpoint.c %D%/train/checkpoint.h \
	%D%/train/coordinator_admit.c %D%/train/coordinator_admit.h \
	%D%/train/coordinator_conf.c %D%/train/coordinator_conf.h \
	%D%/train/coordinator_frames.c %D%/train/coordinator_frames.h \
	%D%/train/coordinator_members.c \
	%D%/train/coordinator_net.c %D%/train/coordinator_net.h \
	%D%/train/coordinator_net_open.c %D%/train/coordinator_net_private.h \
	%D%/train/coordinator_open.c \
	%D%/train/coordinator_options.c \
	%D%/train/coordinator_plan.c \
	%D%/train/coordinator_profile.c \
	%D%/train/coordinator_run.c %D%/train/coordinator_run.h \
	%D%/train/coordinator_runstate.h \
	%D%/train/coordinator_save.c \
	%D%/train/coordinator_status.c %D%/train/coordinator_status.h \
	%D%/train/coordinator_view.c \
	%D%/train/dataset.c %D%/train/dataset.h \
	%D%/train/dataset_idx.c %D%/train/dataset_idx.h \
	%D%/train/dataset_spec.c %D%/train/dataset_spec.h \
	%D%/train/dataset_stream.c %D%/train/dataset_stream.h \
	%D%/train/dataset_table.c %D%/train/dataset_table.h \
	%D%/train/dataset_text.c %D%/train/dataset_text.h \
	%D%/train/evaluate.c %D%/train/evaluate.h \
	%D%/train/evaluate_pass.c %D%/train/evaluate_pass.h \
	%D%/train/exam.c %D%/train/exam.h \
	%D%/train/examiner.c %D%/train/examiner.h \
	%D%/train/fence.c %D%/train/fence.h \
	%D%/train/profile.c %D%/train/profile.h \
	%D%/train/objective.c %D%/train/objective.h \
	%D%/train/spawn.c %D%/train/spawn.h \
	%D%/train/taskfault.c %D%/train/taskfault.h \
	%D%/train/taskwatch.c %D%/train/taskwatch.h \
	%D%/train/trainmsg.c %D%/train/trainmsg.h \
	%D%/train/usertask.c %D%/train/usertask.h \
	%D%/train/usertask_examine.c \
	%D%/train/worker_compute.c %D%/train/worker_compute.h \
	%D%/train/worker_options.c %D%/train/worker_options.h \
	%D%/train/worker_part.c %D%/train/worker_part.h \
	%D%/train/worker_points.c %D%/train/worker_points.h \
	%D%/train/worker_pool.c %D%/train/worker_pool.h \
	%D%/train/worker_queue.c %D%/train/worker_queue.h \
	%D%/train/worker_session.c %D%/train/worker_session.h \
	%D%/train/worker_session_private.h \
	%D%/train/worker_session_work.c \
	%D%/train/workerlink.c %D%/train/workerlink.h
%C%_libagent_a_CPPFLAGS = $(AM_CPPFLAGS) -DISO_SCENARIODIR='"$(pkgdatadir)/scenarios"' $(LIBBPF_CFLAGS) $(CONFUSE_CFLAGS) $(JANSSON_CFLAGS) \
	$(ZMQ_CFLAGS) $(CGROUP_CFLAGS) $(CAPNG_CFLAGS) $(SECCOMP_CFLAGS) $(SYSTEMD_CFLAGS)

agent_libs = %D%/libagent.a lib/libisobar.a \
	$(LIBBPF_LIBS) $(CONFUSE_LIBS) $(JANSSON_LIBS) $(ZMQ_LIBS) $(CGROUP_LIBS) $(CAPNG_LIBS) $(SECCOMP_LIBS) $(SYSTEMD_LIBS)

sbin_PROGRAMS += %D%/isobard
%C%_isobard_SOURCES = %D%/isobard.c
%C%_isobard_LDADD = $(agent_libs)

bin_PROGRAMS += %D%/isobarctl
%C%_isobarctl_SOURCES = \
	%D%/isobarctl.c \
	%D%/ctl/audit.h \
	%D%/ctl/audit_edges.c \
	%D%/ctl/audit_report.c \
	%D%/ctl/audit_trust.c \
	%D%/ctl/desk.c %D%/ctl/desk.h \
	%D%/ctl/desk_text.c %D%/ctl/desk_text.h \
	%D%/ctl/isobarctl.h \
	%D%/ctl/isobarctl_ask.c \
	%D%/ctl/isobarctl_audit.c \
	%D%/ctl/isobarctl_budget.c \
	%D%/ctl/isobarctl_bury.c \
	%D%/ctl/isobarctl_check.c \
	%D%/ctl/isobarctl_history.c \
	%D%/ctl/isobarctl_keygen.c \
	%D%/ctl/isobarctl_member.c \
	%D%/ctl/isobarctl_metrics.c \
	%D%/ctl/isobarctl_registry.c \
	%D%/ctl/isobarctl_status.c \
	%D%/ctl/isobarctl_tell.c \
	%D%/ctl/isobarctl_watch.c
%C%_isobarctl_CPPFLAGS = $(AM_CPPFLAGS) $(JANSSON_CFLAGS)
%C%_isobarctl_LDADD = $(agent_libs)

if WITH_EXPORTER
sbin_PROGRAMS += %D%/isobar-exporter
web_server = \
	%D%/export/answers.c %D%/export/answers.h \
	%D%/export/http.c %D%/export/http.h
%C%_isobar_exporter_SOURCES = %D%/isobar-exporter.c $(web_server)
%C%_isobar_exporter_CPPFLAGS = $(AM_CPPFLAGS) $(JANSSON_CFLAGS) $(CAPNG_CFLAGS) $(MICROHTTPD_CFLAGS)
%C%_isobar_exporter_LDADD = $(agent_libs) $(MICROHTTPD_LIBS)
else
left_out = %D%/isobar-exporter
endif

# No library but libc: nothing else may stand between a lease's end and the limit.
pkglibexec_PROGRAMS += %D%/isobar-guard
%C%_isobar_guard_SOURCES = %D%/isobar-guard.c
%C%_isobar_guard_LDADD = %D%/libagent.a lib/libisobar.a

bin_PROGRAMS += %D%/isobar-sim
%C%_isobar_sim_SOURCES = \
	%D%/isobar-sim.c \
	%D%/sim/graph.c %D%/sim/graph.h \
	%D%/sim/graph_facts.c \
	%D%/sim/graph_names.c %D%/sim/graph_names.h \
	%D%/sim/graph_print.c \
	%D%/sim/network.c %D%/sim/network.h %D%/sim/network_option.c \
	%D%/sim/option.c %D%/sim/option.h \
	%D%/sim/progress.c %D%/sim/progress.h \
	%D%/sim/shares.c %D%/sim/shares.h \
	%D%/sim/shares_plot.c \
	%D%/sim/shares_print.c \
	%D%/sim/shares_run.c \
	%D%/sim/sim.h \
	%D%/sim/track.c %D%/sim/track.h \
	%D%/sim/track_options.c \
	%D%/sim/track_plot.c \
	%D%/sim/track_print.c \
	%D%/sim/track_problem.c %D%/sim/track_problem.h \
	%D%/sim/track_run.c \
	%D%/sim/track_scale.c \
	%D%/sim/track_world.c \
	%D%/sim/train.c
%C%_isobar_sim_CPPFLAGS = $(AM_CPPFLAGS) $(BLAS_CFLAGS) $(JANSSON_CFLAGS)
%C%_isobar_sim_LDADD = $(agent_libs) $(BLAS_LIBS) $(ZLIB_LIBS)

# Only these two compute: no BLAS in the enforcing daemon.
pkglibexec_PROGRAMS += %D%/isobar-worker
%C%_isobar_worker_SOURCES = %D%/isobar-worker.c
%C%_isobar_worker_CPPFLAGS = $(AM_CPPFLAGS) $(BLAS_CFLAGS) $(ZMQ_CFLAGS)
%C%_isobar_worker_LDADD = $(agent_libs) $(BLAS_LIBS) $(ZLIB_LIBS)

sbin_PROGRAMS += %D%/isobar-coordinator
%C%_isobar_coordinator_SOURCES = %D%/isobar-coordinator.c
%C%_isobar_coordinator_CPPFLAGS = $(AM_CPPFLAGS) $(BLAS_CFLAGS) $(ZMQ_CFLAGS) $(JANSSON_CFLAGS)
%C%_isobar_coordinator_LDADD = $(agent_libs) $(BLAS_LIBS) $(ZLIB_LIBS)
