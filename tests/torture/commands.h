/* commands.h - what the tests of tests/torture run.  The files are those of seeds.txt. */
#ifndef NB_TEST_COMMANDS_H
#define NB_TEST_COMMANDS_H

#include <stddef.h>

/* Faults of calls: every program, every way to read, write and compute; those with several programs also with
 * NB_FOLD=off. */
static const struct {
	const char *in; /* NULL: nothing */
	const char *line;
} fault_commands[] = {
	{NULL, "nb-gen plummer -n 20"},
	{NULL, "nb-gen merger -n 30 --precision f32"},
	{NULL, "nb-gen solar --no-history"},
	{NULL, "nb-gen boxes --level 1 --per-box 2 -j 2"},
	{NULL, "nb-gen lpt -n 64 --box 1"},
	{NULL, "nb-gen --help"},
	{"sphere", "nb-sort-zorder"},
	{"plane", "nb-sort-zorder -j 2"},
	{"sorted", "nb-build-tree -l 4"},
	{"sorted", "nb-build-tree --kind boxes --level 1"},
	{"sphere", "nb-force --potential --jerk"},
	{"sphere", "nb-force --precision f32 -e 0.1 -j 2"},
	{"plane", "nb-force --kernel gangavarapu-tree"},
	{"sphere", "nb-force --kernel lecture8-simd"},
	{"tree", "nb-force -m tree -e 0.1 --potential"},
	{"tree", "nb-force -m tree --mac acceleration --precision f64"},
	{"boxes", "nb-force -m near"},
	{"boxes", "nb-force -m fmm -e 0.1 --potential"},
	{"boxes2", "nb-force -m fmm"},
	{"boxes2", "nb-force --kernel shan-serial"},
	{"forces", "nb-step -d 0.01"},
	{"solid", "nb-step -d 0.01 --collide merge"},
	{"solid", "nb-step -d 0.1 --collide elastic"},
	{"solid", "nb-step -d 0.1 --integrator euler --collide xu"},
	{"forces", "nb-step -d 0.01 --integrator taylor"},
	{"sphere", "nb-step -d 0.01 -k 2 'nb-force -e 0.1'"},
	{"sphere", "nb-step -q -d 0.1 --levels 4 --eta 0.01 --integrator hermite 'nb-force --jerk -e 0.1'"},
	{"sphere",
		"nb-step -q -d 0.1 --levels 3 --eta 0.1 --blocks whole 'nb-sort-zorder | nb-build-tree | nb-force -e "
		"0.1'"},
	{"sphere", "nb-step -d 0.01 -k 2 --every 0 'nb-sort-zorder | nb-build-tree | nb-force -e 0.1'"},
	{"forces", "nb-stats"},
	{"forces", "nb-stats --check"},
	{"forces", "nb-stats --compare forces.nb --format json"},
	{"tree", "nb-stats --fields --format tsv"},
	{"forces", "nb-stats --history"},
	{"tree", "nb-stats --attributes"},
	{"sphere", "nb-render-ppm -W 16 -H 16"},
	{"merger", "nb-render-ppm -W 16 -H 16 --by species --neighbours 4 --draw density"},
	{"frames", "nb-render-ppm -W 16 -H 16 --by id --trail 2 --follow densest --fit 90 --label time,scale"},
	{"forces", "nb-convert --to csv"},
	{"plane", "nb-convert -q --to princeton"},
	{"forces.csv", "nb-convert --from csv"},
	{"princeton.txt", "nb-convert --from princeton"},
	{NULL, "nb-convert --from csv forces.csv"},
	{"labels.gadget", "nb-convert -q --from gadget"},
	{NULL, "nb-convert -q --from gadget --sphere 0,0,0,1 parts"},
	{NULL, "nb-convert -q --from auto --species 1 --rows 1::2 labels.gadget"},
	{"bodies.tipsy", "nb-convert -q --from tipsy"},
	{NULL, "nb-convert -q --from tipsy --fields id,pos beside"},
	{"run.nemo", "nb-convert -q --from nemo"},
	{NULL, "nb-convert -q --from auto --frame 1 run.nemo"},
	{"bodies.hdf5", "nb-convert -q --from gadget-hdf5"},
	{NULL, "nb-convert -q --from auto --rows 1::2 bodies.hdf5"},
	{"forces", "nb-convert -q --to gadget"},
	{"merger", "nb-convert -q --to gadget2 -o labels.out"},
	{"merger", "nb-convert -q --to gadget --files 2 -o parts.out"},
	{"forces", "nb-convert -q --to tipsy"},
	{"merger", "nb-convert -q --to tipsy-native -o beside.out"},
	{"frames", "nb-convert -q --to nemo"},
	{"frames", "nb-convert -q --to nemo-split -o run.out"},
	{"merger", "nb-convert -q --to gadget-hdf5"},
	{"forces", "nb-convert -q --to gadget-hdf5 -o bodies.out"},
	{"forces", "nb-convert -q --to npy"},
	{"frames", "nb-convert -q --to npz"},
	{"forces", "nb-convert -q --to vtp"},
	{"frames", "nb-convert -q --to vtkhdf -o run.vtkhdf"},
	{NULL, "nb-sort-zorder forces.nb sphere.nb"},
	{"frames", "nb-select --frames -2"},
	{"frames", "nb-select --where 'r < 1' --sample 3 --sort -x --drop vel"},
	{"frames", "nb-select -q --recover"},
	{NULL, "nb-gen plummer -n 10 | nb-select --ids 1,3-5 | nb-stats"},
	{NULL, "nb-gen plummer -n 10 | nb-sort-zorder | nb-build-tree | nb-force | nb-stats"},
	{NULL, "nb-gen plummer -n 10 | nb-force -j 2 | nb-step -d 0.1"},
	{NULL, "nb-gen plummer -n 10 | nb-force -e 0.1 | nb-stats --attributes"},
	{"frames", "nb-sort-zorder | nb-render-ppm -W 16 -H 16"},
	{NULL, "nb-gen kepler | nb-step -d 0.1 -k 3 'nb-force' | nb-stats"},
	{NULL, "nb-gen lpt -n 64 --box 1 | nb-step --cosmology -d 0.1 -k 2 'nb-force -m treepm -e 0.01 --potential'"},
	{NULL, "nb-gen plummer -n 10 | nb-step -d 0.1 -k 2 --eta 0.1 'nb-sort-zorder | nb-build-tree | nb-force -e "
	       "0.1' "
	       "| nb-convert --to csv"},
};

/* Cuts, flips, hostile streams: every program that reads a stream, as one process; without
 * warnings, so that a failure is one line. */
static const char *const stream_commands[] = {
	"nb-stats -q --check",
	"nb-sort-zorder",
	"nb-force -m direct --potential",
	"nb-build-tree -l 4",
	"nb-step -d 0.01",
	"nb-stats -q",
	"nb-convert -q --to csv",
	"nb-render-ppm -W 16 -H 16",
	/* those above take any small frame; a cut or flipped stream sees the first ones only */
	"nb-force -m tree -e 0.1 --potential",
	"nb-force -m tree -t 0.9",
	"nb-force -m tree --mac acceleration --precision f64",
	"nb-force -m tree --precision mixed -t 2",
	"nb-force -m near --potential",
	"nb-force -m near --precision f32",
	"nb-force -m fmm -e 0.1",
	"nb-force -m fmm -p 3 --potential -e 1e-3",
	"nb-force --jerk -j 2",
	"nb-force --precision f32 --potential",
	"nb-force --kernel shan-serial",
	"nb-force --kernel xu-tree --jerk",
	"nb-force --kernel gangavarapu-tree",
	"nb-force --kernel lecture8-simd",
	"nb-force --kernel gems3-serial",
	"nb-sort-zorder --dim 2",
	"nb-sort-zorder --cube 0,0,0,1",
	"nb-build-tree -l 1 -p 1 -j 2",
	"nb-build-tree --kind boxes --level 2",
	"nb-build-tree --kind quadtree",
	"nb-step -d 1e300",
	"nb-step -d 0.1 --integrator taylor",
	"nb-step -d 0.1 --integrator euler --no-history",
	"nb-step -d 0.1 --collide merge",
	"nb-step -d 0.1 --collide elastic",
	"nb-step -d 0.1 --collide bounce --restitution 0.5",
	"nb-step -d 0.1 --integrator euler --collide xu",
	"nb-step -k 0",
	"nb-step -d 0.01 --eta 0.1",
	"nb-stats -q --attributes",
	"nb-stats -q --fields --format json",
	"nb-stats -q --history",
	"nb-stats -q --lagrangian 1,99 --epot direct",
	"nb-stats -q --compare forces.nb",
	"nb-render-ppm -W 48 -H 32 --by speed --draw density --view 30,40",
	"nb-render-ppm -W 32 -H 32 --by species --draw discs",
	"nb-render-ppm -W 32 -H 32 --by vel --by-scale log --trail 3 --follow densest --fit 95 --label "
	"time,scale,colour",
	"nb-render-ppm -W 32 -H 32 --by id --draw points --follow id:1 --fit all --title x",
	"nb-render-ppm -W 32 -H 32 --neighbours 3 --stretch log --draw density",
	"nb-convert -q --to princeton",
	"nb-convert -q --to csv --frame 1",
	"nb-select --where 'mass > 0 && r < 9' --sort -x",
	"nb-select --sample 3 --keep-derived --drop-table node",
	"nb-select --fields id,pos",
	"nb-sort-zorder | nb-build-tree | nb-force",
	"nb-sort-zorder -j 2 | nb-build-tree --kind boxes --level 1 | nb-force -m fmm | nb-step -d 0.1 | nb-stats -q",
	"nb-force | nb-step -d 0.1 --collide merge | nb-convert -q --to csv",
	"nb-step -d 0.01 -k 2 'nb-force -e 0.1'",
	"nb-step -d 0.01 -k 1 'nb-sort-zorder | nb-build-tree | nb-force'",
};
enum { STREAM_COMMANDS = sizeof stream_commands / sizeof *stream_commands, PLAIN_COMMANDS = 8 };

/* Cuts and flips of files of other programs, which have no checksums: what is taken must be a whole stream.  Where a
 * cut leaves a file that is whole too; 0: nowhere. */
static const struct {
	const char *file, *command;
	size_t whole[4];
} foreign_commands[] = {
	/* behind a block that need not be followed by others */
	{"labels.gadget", "nb-convert -q --from gadget", {328, 376, 408, 440}},
	{"bodies.gadget", "nb-convert -q --from gadget", {0}},
	{"bodies.tipsy", "nb-convert -q --from tipsy", {0}},
	{"run.nemo", "nb-convert -q --from nemo", {373, 746}}, /* behind a snapshot */
	{"bodies.hdf5", "nb-convert -q --from gadget-hdf5", {0}},
};
enum { FOREIGN_COMMANDS = sizeof foreign_commands / sizeof *foreign_commands };

#endif
