/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "config.h"

#include <assert.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "agent/control/control.h"

/* From the bytes of a request to its reply: the same for every transport. */

json_t *control_refuse(const char *format, ...)
{
	char text[512];
	va_list ap;

	va_start(ap, format);
	vsnprintf(text, sizeof(text), format, ap);
	va_end(ap);
	/* What came from a client may cut a character in two: '?' instead of no answer. */
	json_t *reply = json_pack("{s:b, s:s}", "ok", 0, "error", text);
	if (reply != NULL)
		return reply;
	for (char *p = text; *p != '\0'; p++)
		if ((unsigned char)*p >= 0x80)
			*p = '?';
	return json_pack("{s:b, s:s}", "ok", 0, "error", text);
}

/* Always a reply, unless memory runs out. */
static json_t *complete(json_t *reply)
{
	if (reply == NULL)
		return control_refuse("internal error");
	if (json_object_get(reply, "ok") == NULL)
		(void)json_object_set_new(reply, "ok", json_true());
	return reply;
}

void control_answer(const struct control_token *token, json_t *reply)
{
	token->answer(token->transport, token->number, complete(reply));
}

static const struct control_command *find(const struct control_table *table, const char *name)
{
	for (size_t i = 0; i < table->command_count; i++)
		if (strcmp(table->commands[i].name, name) == 0)
			return &table->commands[i];
	return NULL;
}

json_t *control_dispatch(const struct control_table *table, const char *bytes, size_t size,
			 const char *may_not, const struct control_token *token)
{
	json_error_t why;

	if (size > CONTROL_PACKET_BYTES_MAX)
		return control_refuse("the request is longer than %u bytes",
				      CONTROL_PACKET_BYTES_MAX);
	json_t *request = json_loadb(bytes, size, JSON_REJECT_DUPLICATES, &why);
	if (request == NULL)
		return control_refuse("the request is no JSON object: %s", why.text);

	const char *name = json_string_value(json_object_get(request, "command"));
	const struct control_command *command = name != NULL ? find(table, name) : NULL;
	json_t *reply;
	if (name == NULL)
		reply = control_refuse("the request has no command");
	else if (command == NULL)
		reply = control_refuse("there is no command '%.64s'", name);
	else if (command->changes_state && may_not != NULL)
		reply = control_refuse("'%s' changes the state: %s", name, may_not);
	else if (command->later != NULL)
		reply = command->later(table->context, request, token);
	else
		reply = command->fn(table->context, request);
	bool is_later = command != NULL && command->later != NULL && reply == NULL;
	json_decref(request);
	return is_later ? NULL : complete(reply);
}
