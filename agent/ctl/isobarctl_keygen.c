/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "config.h"

#include <limits.h>
#include <stdio.h>

#include "agent/ctl/isobarctl.h"
#include "agent/net/curve.h"

static int fails(struct curve_keypair *keys, const struct error *error)
{
	curve_keypair_wipe(keys);
	fprintf(stderr, "isobarctl: %s\n", error->text);
	return CTL_FAILED;
}

static void print(const struct ctl *ctl, const struct curve_keypair *keys, const char *secret_path,
		  const char *public_path)
{
	if (ctl->json) {
		json_t *json = json_pack("{s:b, s:s}", "ok", 1, "public_key", keys->public_key);

		if (secret_path != NULL) {
			(void)json_object_set_new(json, "secret_key_file",
						  json_string(secret_path));
			(void)json_object_set_new(json, "public_key_file",
						  json_string(public_path));
		} else {
			(void)json_object_set_new(json, "secret_key",
						  json_string(keys->secret_key));
		}
		ctl_print_json(json);
		json_decref(json);
		return;
	}
	/* Ready for a configuration, and for a key file. */
	if (secret_path != NULL)
		printf("secret-key = %s\n# for the neighbours' configuration:\npublic-key = '%s'\n",
		       secret_path, keys->public_key);
	else
		printf("public-key %s\nsecret-key %s\n", keys->public_key, keys->secret_key);
}

int ctl_keygen(const struct ctl *ctl, int argc, char **argv)
{
	char secret_path[PATH_MAX], public_path[PATH_MAX];
	struct curve_keypair keys;
	struct error error;

	(void)argc;
	(void)argv;
	if (curve_keypair_new(&keys, &error) < 0)
		return fails(&keys, &error);
	if (ctl->output == NULL) {
		print(ctl, &keys, NULL, NULL);
		curve_keypair_wipe(&keys);
		return CTL_DONE;
	}
	int n = snprintf(secret_path, sizeof(secret_path), "%s.key", ctl->output);
	int m = snprintf(public_path, sizeof(public_path), "%s.pub", ctl->output);
	if (n >= PATH_MAX || m >= PATH_MAX) {
		error_set(&error, 0, "--output: the path is too long");
		return fails(&keys, &error);
	}
	if (curve_keypair_write(&keys, secret_path, public_path, &error) < 0)
		return fails(&keys, &error);
	print(ctl, &keys, secret_path, public_path);
	curve_keypair_wipe(&keys);
	return CTL_DONE;
}
