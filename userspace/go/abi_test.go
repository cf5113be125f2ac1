// SPDX-License-Identifier: LGPL-2.1-or-later OR MIT

package kwq

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"reflect"
	"strings"
	"testing"
	"unicode"
)

// The structures, by their names in the header.
var structures = map[string]interface{}{
	"kwq_info":            infoArgs{},
	"kwq_limiter":         limiterArgs{},
	"kwq_config":          configArgs{},
	"kwq_create_args":     createArgs{},
	"kwq_open_args":       openArgs{},
	"kwq_unlink_args":     unlinkArgs{},
	"kwq_list_entry":      listEntry{},
	"kwq_list_args":       listArgs{},
	"kwq_batch":           batchABI{},
	"kwq_batch_args":      batchArgs{},
	"kwq_add_args":        addArgs{},
	"kwq_add_entry":       addEntry{},
	"kwq_add_extra":       addExtra{},
	"kwq_done_entry":      doneEntry{},
	"kwq_extend_entry":    extendEntry{},
	"kwq_remove_entry":    removeEntry{},
	"kwq_key_entry":       keyEntry{},
	"kwq_listed":          listedEntry{},
	"kwq_list_items_args": listItemsArgs{},
	"kwq_restore_entry":   restoreEntry{},
	"kwq_advance_args":    advanceArgs{},
	"kwq_pause_args":      pauseArgs{},
	"kwq_term_args":       termArgs{},
	"kwq_got":             gotEntry{},
	"kwq_got_extra":       gotExtra{},
	"kwq_get_args":        getArgs{},
	"kwq_resume_args":     resumeArgs{},
	"kwq_shut_down_args":  shutDownArgs{},
	"kwq_drain_args":      drainArgs{},
	"kwq_histogram":       histogramABI{},
	"kwq_stat":            statArgs{},
	"kwq_board_slot":      boardSlot{},
	"kwq_board":           boardABI{},
	"kwq_board_args":      boardArgs{},
	"kwq_tell_args":       tellArgs{},
	"kwq_follow_args":     followArgs{},
	"kwq_changes_args":    changesArgs{},
	"kwq_sync_args":       syncArgs{},
	"kwq_backoff":         backoffArgs{},
}

// The members of the union in struct kwq_limiter.
var unionMembers = map[string]interface{}{
	"exponential": exponentialArgs{},
	"fast_slow":   fastSlowArgs{},
	"bucket":      bucketArgs{},
	"backoff":     backoffArgs{},
}

// signed is a number as C prints it.
func signed(n uint64) int64 { return int64(n) }

var numbers = map[string]int64{
	"KWQ_KEY_MAX":           KeyMax,
	"KWQ_NAME_MAX":          NameMax,
	"KWQ_BATCH_MAX":         BatchMax,
	"KWQ_VALUE_MAX":         ValueMax,
	"KWQ_NOTE_MAX":          NoteMax,
	"KWQ_GROUP_MAX":         GroupMax,
	"KWQ_PRIORITY_MIN":      PriorityMin,
	"KWQ_PRIORITY_MAX":      PriorityMax,
	"KWQ_PRIORITY_NONE":     priorityNone,
	"KWQ_AGE_UNKNOWN":       signed(ageUnknown),
	"KWQ_LIMITERS_MAX":      LimitersMax,
	"KWQ_HISTOGRAM_BUCKETS": HistogramBuckets,
	"KWQ_ONE":               one,
	"KWQ_RIGHT_READ":        int64(RightRead),
	"KWQ_RIGHT_WRITE":       int64(RightWrite),
	"KWQ_RIGHT_MANAGE":      int64(RightManage),
	"CLOCK_MONOTONIC":       int64(ClockMonotonic),
	"CLOCK_BOOTTIME":        int64(ClockBoottime),
	"KWQ_CLOCK_ID_MANUAL":   int64(ClockManual),

	"KWQ_FEATURE_DELAYS":       int64(FeatureDelays),
	"KWQ_FEATURE_PRIORITIES":   int64(FeaturePriorities),
	"KWQ_FEATURE_NAMES":        int64(FeatureNames),
	"KWQ_FEATURE_LIMITERS":     int64(FeatureLimiters),
	"KWQ_FEATURE_DEAD":         int64(FeatureDead),
	"KWQ_FEATURE_METRICS":      int64(FeatureMetrics),
	"KWQ_FEATURE_MANUAL_CLOCK": int64(FeatureManualClock),
	"KWQ_FEATURE_LEASES":       int64(FeatureLeases),
	"KWQ_FEATURE_PAUSE":        int64(FeaturePause),
	"KWQ_FEATURE_LIST_ITEMS":   int64(FeatureListItems),
	"KWQ_FEATURE_GROUPS":       int64(FeatureGroups),
	"KWQ_FEATURE_AGING":        int64(FeatureAging),
	"KWQ_FEATURE_VALUES":       int64(FeatureValues),
	"KWQ_FEATURE_DEBOUNCE":     int64(FeatureDebounce),
	"KWQ_FEATURE_WAIT_ADD":     int64(FeatureWaitAdd),
	"KWQ_FEATURE_RESTORE":      int64(FeatureRestore),
	"KWQ_FEATURE_SETTLE":       int64(FeatureSettle),
	"KWQ_FEATURE_BOARD":        int64(FeatureBoard),
	"KWQ_FEATURE_NO_DURATIONS": int64(FeatureNoDurations),
	"KWQ_FEATURE_CHANGES":      int64(FeatureChanges),
	"KWQ_FEATURE_GRANTS":       int64(FeatureGrants),
	"KWQ_FEATURE_NOTES":        int64(FeatureNotes),

	"KWQ_CREATE_OR_OPEN":      createOrOpen,
	"KWQ_CREATE_VALUES":       createValues,
	"KWQ_CREATE_GROUPS":       createGroups,
	"KWQ_CREATE_NO_DURATIONS": createNoDurations,
	"KWQ_CREATE_CHANGES":      createChanges,
	"KWQ_CREATE_SYNC":         createSync,
	"KWQ_CREATE_OUTBOX":       createOutbox,
	"KWQ_CHANGES_NONBLOCK":    changesNonblock,
	"KWQ_CHANGES_VALUES":      changesValues,
	"KWQ_CHANGES_NOTES":       changesNotes,
	"KWQ_BOARD_KEY_MAX":       boardKeyMax,
	"KWQ_CONFIG_COALESCE":     configCoalesce,
	"KWQ_LIMITER_EXPONENTIAL": limiterExponential,
	"KWQ_LIMITER_FAST_SLOW":   limiterFastSlow,
	"KWQ_LIMITER_BUCKET":      limiterBucket,
	"KWQ_LIMITER_BACKOFF":     limiterBackoff,
	"KWQ_ADD_WAIT":            addWait,
	"KWQ_ADD_RELATIVE":        addRelative,
	"KWQ_ADD_PRIORITY":        addPriority,
	"KWQ_ADD_AFTER":           addAfter,
	"KWQ_ADD_AT":              addAt,
	"KWQ_ADD_REPLACE":         addReplace,
	"KWQ_ADD_KEEP":            addKeep,
	"KWQ_ADD_LATER":           addLater,
	"KWQ_ADD_END_WAIT":        addEndWait,
	"KWQ_ADD_RATE_LIMITED":    addRateLimited,
	"KWQ_ADD_KICK":            addKick,
	"KWQ_ADD_VALUE":           addValue,
	"KWQ_ADD_KEEP_VALUE":      addKeepValue,
	"KWQ_ADD_GROUP":           addGroup,
	"KWQ_ADD_AT_MOST":         addAtMost,
	"KWQ_ADD_TOKEN":           addToken,
	"KWQ_ADD_NOTE":            addNote,
	"KWQ_DONE_FORGET":         doneForget,
	"KWQ_DONE_DEAD":           doneDead,
	"KWQ_DONE_RETURN":         doneReturn,
	"KWQ_EXTEND_NOTE":         extendNote,
	"KWQ_REMOVE_DEAD":         removeDead,
	"KWQ_REMOVE_REVOKE":       removeRevoke,
	"KWQ_REMOVE_UNCHANGED":    removeUnchanged,
	"KWQ_LIST_KEY":            listKey,
	"KWQ_LIST_VALUES":         listValues,
	"KWQ_LIST_NOTES":          listNotes,
	"KWQ_ADVANCE_TO":          advanceTo,
	"KWQ_GET_NONBLOCK":        getNonblock,
	"KWQ_PAUSE_FOR":           pauseFor,
	"KWQ_STATE_SHUT_DOWN":     stateShutDown,
	"KWQ_STATE_UNLINKED":      stateUnlinked,
	"KWQ_STATE_PAUSED":        statePaused,
	"KWQ_STATE_TERM_OVER":     stateTermOver,
	"KWQ_TERM_RELATIVE":       termRelative,

	"KWQ_ADDED":         int64(Added),
	"KWQ_COALESCED":     int64(Coalesced),
	"KWQ_DIRTIED":       int64(Dirtied),
	"KWQ_WAITING":       int64(Waiting),
	"KWQ_DEAD":          int64(Dead),
	"KWQ_DIRTY":         int64(Dirty),
	"KWQ_RESTORED":      int64(Restored),
	"KWQ_FINISHED":      int64(Finished),
	"KWQ_REQUEUED":      int64(Requeued),
	"KWQ_STILL_WAITING": int64(StillWaiting),
	"KWQ_BURIED":        int64(Buried),
	"KWQ_RETURNED":      int64(Returned),
	"KWQ_IS_READY":      int64(IsReady),
	"KWQ_IS_WAITING":    int64(IsWaiting),
	"KWQ_IS_PROCESSING": int64(IsProcessing),
	"KWQ_IS_DIRTY":      int64(IsDirty),
	"KWQ_IS_DEAD":       int64(IsDead),
	"KWQ_IS_REMEMBERED": int64(IsRemembered),
	"KWQ_IS_RETURNED":   int64(IsReturned),
	"KWQ_IS_DYING":      int64(IsDying),

	"KWQ_IOC_INFO":          int64(iocInfo),
	"KWQ_IOC_CREATE":        int64(iocCreate),
	"KWQ_IOC_OPEN":          int64(iocOpen),
	"KWQ_IOC_UNLINK":        int64(iocUnlink),
	"KWQ_IOC_LIST":          int64(iocList),
	"KWQ_IOC_ADD":           int64(iocAdd),
	"KWQ_IOC_GET":           int64(iocGet),
	"KWQ_IOC_DONE":          int64(iocDone),
	"KWQ_IOC_REMOVE":        int64(iocRemove),
	"KWQ_IOC_LEN":           int64(iocLen),
	"KWQ_IOC_STAT":          int64(iocStat),
	"KWQ_IOC_SHUT_DOWN":     int64(iocShutDown),
	"KWQ_IOC_SHUTTING_DOWN": int64(iocShuttingDown),
	"KWQ_IOC_DRAIN":         int64(iocDrain),
	"KWQ_IOC_FORGET":        int64(iocForget),
	"KWQ_IOC_REQUEUES":      int64(iocRequeues),
	"KWQ_IOC_CONFIGURE":     int64(iocConfigure),
	"KWQ_IOC_CONFIG":        int64(iocConfig),
	"KWQ_IOC_ADVANCE":       int64(iocAdvance),
	"KWQ_IOC_EXTEND":        int64(iocExtend),
	"KWQ_IOC_PAUSE":         int64(iocPause),
	"KWQ_IOC_RESUME":        int64(iocResume),
	"KWQ_IOC_LIST_ITEMS":    int64(iocListItems),
	"KWQ_IOC_RESTORE":       int64(iocRestore),
	"KWQ_IOC_BOARD":         int64(iocBoard),
	"KWQ_IOC_TELL":          int64(iocTell),
	"KWQ_IOC_FOLLOW":        int64(iocFollow),
	"KWQ_IOC_CHANGES":       int64(iocChanges),
	"KWQ_IOC_SYNC":          int64(iocSync),
	"KWQ_IOC_TERM":          int64(iocTerm),
}

// cName is the name of a member in C: keyLen is key_len.
func cName(name string) string {
	var b strings.Builder
	for _, c := range name {
		if unicode.IsUpper(c) {
			b.WriteByte('_')
		}
		b.WriteRune(unicode.ToLower(c))
	}
	return b.String()
}

// describeLayout prints a line for the size of a structure, and one for each member: its name, offset and size.
func describeLayout(b *strings.Builder, name string, v interface{}) {
	t := reflect.TypeOf(v)
	fmt.Fprintf(b, "%s %d\n", name, t.Size())
	for i := 0; i < t.NumField(); i++ {
		f := t.Field(i)
		fmt.Fprintf(b, "%s.%s %d %d\n", name, cName(f.Name), f.Offset, f.Type.Size())
	}
}

// layoutProgram is a C program that prints the same lines, and then the numbers.
func layoutProgram() (source, want string) {
	var c, lines strings.Builder
	c.WriteString("#include <stddef.h>\n#include <stdio.h>\n#include <time.h>\n#include <linux/kwq.h>\n" +
		"#define MEMBER(n, s, m) printf(\"%s.%s %zu %zu\\n\", n, #m, offsetof(s, m), sizeof(((s *)0)->m))\n" +
		"#define UNION(k, m) printf(\"%s.%s %zu %zu\\n\", #k, #m, offsetof(struct kwq_limiter, u.k.m) - " +
		"offsetof(struct kwq_limiter, u), sizeof(((struct kwq_limiter *)0)->u.k.m))\n" +
		"int main(void)\n{\n")
	for name, v := range structures {
		describeLayout(&lines, name, v)
		fmt.Fprintf(&c, "printf(\"%s %%zu\\n\", sizeof(struct %s));\n", name, name)
		for i := 0; i < reflect.TypeOf(v).NumField(); i++ {
			fmt.Fprintf(&c, "MEMBER(%q, struct %s, %s);\n", name, name, cName(reflect.TypeOf(v).Field(i).Name))
		}
	}
	for name, v := range unionMembers {
		describeLayout(&lines, name, v)
		fmt.Fprintf(&c, "printf(\"%s %%zu\\n\", sizeof(((struct kwq_limiter *)0)->u.%s));\n", name, name)
		for i := 0; i < reflect.TypeOf(v).NumField(); i++ {
			fmt.Fprintf(&c, "UNION(%s, %s);\n", name, cName(reflect.TypeOf(v).Field(i).Name))
		}
	}
	for name, n := range numbers {
		fmt.Fprintf(&lines, "%s %d\n", name, n)
		fmt.Fprintf(&c, "printf(\"%s %%lld\\n\", (long long)%s);\n", name, name)
	}
	c.WriteString("return 0;\n}\n")
	return c.String(), lines.String()
}

// U3: the structures and numbers are those of the header.
func TestABI(t *testing.T) {
	header := filepath.Join("..", "..", "uapi")
	if _, err := os.Stat(filepath.Join(header, "linux", "kwq.h")); err != nil {
		t.Skip("there is no header here")
	}
	cc, err := exec.LookPath("cc")
	if err != nil {
		t.Skip("there is no C compiler here")
	}
	dir := t.TempDir()
	source, want := layoutProgram()
	if err := os.WriteFile(filepath.Join(dir, "abi.c"), []byte(source), 0o600); err != nil {
		t.Fatal(err)
	}
	program := filepath.Join(dir, "abi")
	if out, err := exec.Command(cc, "-I", header, "-o", program, filepath.Join(dir, "abi.c")).CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	out, err := exec.Command(program).Output()
	if err != nil {
		t.Fatal(err)
	}
	got := strings.Split(string(out), "\n")
	for i, line := range strings.Split(want, "\n") {
		if i >= len(got) || got[i] != line {
			t.Errorf("Go has %q, and the header %q", line, got[i])
		}
	}
	header = filepath.Join(header, "linux", "kwq.h")
	text, err := os.ReadFile(header)
	if err != nil {
		t.Fatal(err)
	}
	for _, line := range strings.Split(string(text), "\n") {
		f := strings.Fields(line)
		if len(f) == 3 && f[0] == "struct" && f[2] == "{" && structures[f[1]] == nil {
			t.Errorf("struct %s is not here", f[1])
		}
		if len(f) > 2 && f[0] == "#define" && strings.HasPrefix(f[1], "KWQ_IOC_") && f[1] != "KWQ_IOC_MAGIC" {
			if _, ok := numbers[f[1]]; !ok {
				t.Errorf("%s is not here", f[1])
			}
		}
	}
}
