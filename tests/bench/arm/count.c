/* count.c - a plugin of qemu that says at the end how many instructions a program has executed.  Of the interface of
 * plugins, version 1 (qemu-plugin.h), it declares what it needs. */
#include <stdint.h>
#include <stdio.h>

typedef uint64_t plugin_id;
struct qemu_plugin_tb;
struct qemu_info_t;
size_t qemu_plugin_tb_n_insns(const struct qemu_plugin_tb *tb);
void qemu_plugin_register_vcpu_tb_trans_cb(plugin_id id, void (*call)(plugin_id, struct qemu_plugin_tb *));
void qemu_plugin_register_vcpu_tb_exec_inline(struct qemu_plugin_tb *tb, int op, void *to, uint64_t add);
void qemu_plugin_register_atexit_cb(plugin_id id, void (*call)(plugin_id, void *), void *data);

__attribute__((visibility("default"))) int qemu_plugin_version = 1;
static uint64_t executed;

static void translated(plugin_id id, struct qemu_plugin_tb *tb)
{
	(void)id;
	qemu_plugin_register_vcpu_tb_exec_inline(tb, 0 /* add */, &executed, qemu_plugin_tb_n_insns(tb));
}

static void ended(plugin_id id, void *data)
{
	(void)id;
	(void)data;
	fprintf(stderr, "instructions\t%llu\n", (unsigned long long)executed);
}

__attribute__((visibility("default"))) int qemu_plugin_install(
	plugin_id id, const struct qemu_info_t *info, int argc, char **argv)
{
	(void)info;
	(void)argc;
	(void)argv;
	qemu_plugin_register_vcpu_tb_trans_cb(id, translated);
	qemu_plugin_register_atexit_cb(id, ended, NULL);
	return 0;
}
