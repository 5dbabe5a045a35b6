# Users' tasks: the manual's example, and what must not hurt more than one worker.

# Shared objects without any library of ours, as a user builds them; what is wrong in them
# is meant to be.
hostile_tasks = %D%/hostile.so %D%/hostile-abi.so %D%/hostile-symbol.so
check_PROGRAMS += $(hostile_tasks)
hostile_cflags = $(AM_CFLAGS) -fPIC -fno-sanitize=all -Wno-null-dereference -Wno-infinite-recursion
%C%_hostile_so_SOURCES = %D%/hostile.c
%C%_hostile_so_CFLAGS = $(hostile_cflags)
%C%_hostile_so_LDFLAGS = -shared
%C%_hostile_so_LDADD =
%C%_hostile_abi_so_SOURCES = %D%/hostile.c
%C%_hostile_abi_so_CPPFLAGS = $(AM_CPPFLAGS) -DHOSTILE_ABI=99
%C%_hostile_abi_so_CFLAGS = $(hostile_cflags)
%C%_hostile_abi_so_LDFLAGS = -shared
%C%_hostile_abi_so_LDADD =
%C%_hostile_symbol_so_SOURCES = %D%/hostile.c
%C%_hostile_symbol_so_CPPFLAGS = $(AM_CPPFLAGS) -DHOSTILE_SYMBOL
%C%_hostile_symbol_so_CFLAGS = $(hostile_cflags)
%C%_hostile_symbol_so_LDFLAGS = -shared
%C%_hostile_symbol_so_LDADD =

dist_check_SCRIPTS += %D%/example.sh %D%/ridge.sh
TESTS += %D%/example.sh

if HAVE_CHECK
task_scene = %D%/scene.c %D%/scene.h %D%/task_file.c %D%/task_file.h
unit_tests += %D%/examiner %D%/host %D%/taskwatch
%C%_examiner_SOURCES = %D%/examiner.c $(task_scene)
%C%_host_SOURCES = %D%/host.c $(task_scene)
%C%_taskwatch_SOURCES = %D%/taskwatch.c %D%/task_file.c %D%/task_file.h
host_tests += %D%/training
%C%_training_SOURCES = %D%/training.c tests/cli/cluster.c tests/cli/cluster.h $(task_scene)
endif
