EXTRA_DIST += %D%/kernel.h %D%/meter.bpf.c %D%/meter.h %D%/note.h %D%/task.h

if WITH_EBPF
iso_skeletons = %D%/meter.skel.h
BUILT_SOURCES += $(iso_skeletons)
CLEANFILES += $(iso_skeletons) %D%/meter.tmp.o %D%/meter.bpf.o

AM_V_BPF = $(am__v_BPF_@AM_V@)
am__v_BPF_ = $(am__v_BPF_@AM_DEFAULT_V@)
am__v_BPF_0 = @echo "  BPF     " $@;
am__v_BPF_1 =

# The programs run on the machine they are built for: x86 keeps stores in order.
bpf_order = $$(case $(host_cpu) in x86_64|i?86) echo -DISO_STORES_IN_ORDER;; esac)

# bpftool gen object drops the DWARF, keeps the BTF and can link several objects.
%D%/%.bpf.o: %D%/%.bpf.c %D%/kernel.h %D%/meter.h %D%/note.h %D%/task.h
	$(AM_V_BPF)$(MKDIR_P) %D% && \
	$(BPF_CLANG) $(BPF_CFLAGS) $(bpf_order) $(BPF_CPPFLAGS) -I$(top_srcdir) -c $< \
	  -o $(@:.bpf.o=.tmp.o) && \
	$(BPFTOOL) gen object $@ $(@:.bpf.o=.tmp.o)

# Generated code does not survive our warnings: a system header is spared them.
%D%/%.skel.h: %D%/%.bpf.o
	$(AM_V_GEN){ echo '#pragma GCC system_header'; \
	  $(BPFTOOL) gen skeleton $< name $(*F)_bpf; } >$@.tmp && mv $@.tmp $@
.SECONDARY: $(iso_skeletons:.skel.h=.bpf.o)
endif
