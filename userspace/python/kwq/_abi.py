# SPDX-License-Identifier: LGPL-2.1-or-later OR MIT
"""The numbers, flags and structures of <linux/kwq.h>.

Made from uapi/linux/kwq.h by selftests/check/abi.py: do not edit.
"""
from __future__ import annotations

from typing import Final

from ._layout import Layout, request

KEY_MAX: Final = 4096
NAME_MAX: Final = 255
BATCH_MAX: Final = 1024
VALUE_MAX: Final = 65536
NOTE_MAX: Final = 4096
GROUP_MAX: Final = 255
PRIORITY_MIN: Final = -32
PRIORITY_MAX: Final = 31
NO_DEADLINE: Final = 2**64 - 1
AGE_UNKNOWN: Final = 2**64 - 1

FEATURE_DELAYS: Final = 1 << 0
FEATURE_PRIORITIES: Final = 1 << 1
FEATURE_NAMES: Final = 1 << 2
FEATURE_LIMITERS: Final = 1 << 3
FEATURE_DEAD: Final = 1 << 4
FEATURE_METRICS: Final = 1 << 5
FEATURE_MANUAL_CLOCK: Final = 1 << 6
FEATURE_LEASES: Final = 1 << 7
FEATURE_PAUSE: Final = 1 << 8
FEATURE_LIST_ITEMS: Final = 1 << 9
FEATURE_GROUPS: Final = 1 << 10
FEATURE_AGING: Final = 1 << 11
FEATURE_VALUES: Final = 1 << 12
FEATURE_DEBOUNCE: Final = 1 << 13
FEATURE_WAIT_ADD: Final = 1 << 14
FEATURE_RESTORE: Final = 1 << 15
FEATURE_SETTLE: Final = 1 << 16
FEATURE_BOARD: Final = 1 << 17
FEATURE_NO_DURATIONS: Final = 1 << 18
FEATURE_CHANGES: Final = 1 << 19
FEATURE_GRANTS: Final = 1 << 20
FEATURE_NOTES: Final = 1 << 21

# 1.0 in the fixed-point numbers of factors and jitter.
ONE: Final = 65536

LIMITERS_MAX: Final = 8
LIMITER_STEPS_MAX: Final = 256

# Kinds of limiters.
LIMITER_EXPONENTIAL: Final = 1
LIMITER_FAST_SLOW: Final = 2
LIMITER_BUCKET: Final = 3
LIMITER_BACKOFF: Final = 4

# Flags of a configuration.
CONFIG_COALESCE: Final = 1 << 0

# A clock for tests.
CLOCK_ID_MANUAL: Final = -1

# Rights of a descriptor.
RIGHT_READ: Final = 1 << 2
RIGHT_WRITE: Final = 1 << 1
RIGHT_MANAGE: Final = 1 << 0

# Flags of KWQ_IOC_CREATE.
CREATE_OR_OPEN: Final = 1 << 0
CREATE_VALUES: Final = 1 << 1
CREATE_GROUPS: Final = 1 << 2
CREATE_NO_DURATIONS: Final = 1 << 3
CREATE_CHANGES: Final = 1 << 4
CREATE_SYNC: Final = 1 << 5
CREATE_OUTBOX: Final = 1 << 6

# Flags of KWQ_IOC_ADD.
ADD_WAIT: Final = 1 << 0
ADD_RELATIVE: Final = 1 << 1

# Flags of an entry of an add.
ADD_PRIORITY: Final = 1 << 0
ADD_AFTER: Final = 1 << 1
ADD_AT: Final = 1 << 2
ADD_REPLACE: Final = 1 << 3
ADD_KEEP: Final = 1 << 4
ADD_LATER: Final = 1 << 5
ADD_END_WAIT: Final = 1 << 6
ADD_RATE_LIMITED: Final = 1 << 7
ADD_KICK: Final = 1 << 8
ADD_VALUE: Final = 1 << 9
ADD_KEEP_VALUE: Final = 1 << 10
ADD_GROUP: Final = 1 << 11
ADD_AT_MOST: Final = 1 << 12
ADD_TOKEN: Final = 1 << 13
ADD_NOTE: Final = 1 << 14

# Results of an add.
ADDED: Final = 0
COALESCED: Final = 1
DIRTIED: Final = 2
WAITING: Final = 3
DEAD: Final = 4
DIRTY: Final = 5
RESTORED: Final = 6

# Flags of a done.
DONE_FORGET: Final = 1 << 0
DONE_DEAD: Final = 1 << 1
DONE_RETURN: Final = 1 << 2

# Results of a done.
FINISHED: Final = 0
REQUEUED: Final = 1 << 0
STILL_WAITING: Final = 1 << 1
BURIED: Final = 1 << 2
RETURNED: Final = 1 << 3

# Flags of an extension.
EXTEND_NOTE: Final = 1 << 0

# Flags of a remove.
REMOVE_DEAD: Final = 1 << 0
REMOVE_REVOKE: Final = 1 << 1
REMOVE_UNCHANGED: Final = 1 << 2

# Results of a remove.
WAS_READY: Final = 1 << 0
WAS_WAITING: Final = 1 << 1
WAS_PROCESSING: Final = 1 << 2
WAS_DIRTY: Final = 1 << 3
WAS_DEAD: Final = 1 << 4
WAS_REMEMBERED: Final = 1 << 5

# States of an item.
IS_READY: Final = 1 << 0
IS_WAITING: Final = 1 << 1
IS_PROCESSING: Final = 1 << 2
IS_DIRTY: Final = 1 << 3
IS_DEAD: Final = 1 << 4
IS_REMEMBERED: Final = 1 << 5
IS_RETURNED: Final = 1 << 6
IS_DYING: Final = 1 << 7

PRIORITY_NONE: Final = -128

# Flags of KWQ_IOC_LIST_ITEMS.
LIST_KEY: Final = 1 << 0
LIST_VALUES: Final = 1 << 1
LIST_NOTES: Final = 1 << 2

# Flags of KWQ_IOC_ADVANCE.
ADVANCE_TO: Final = 1 << 0

# Flags of KWQ_IOC_GET.
GET_NONBLOCK: Final = 1 << 0
GET_RELATIVE: Final = 1 << 1

# Flags of KWQ_IOC_PAUSE.
PAUSE_FOR: Final = 1 << 0

# Flags of KWQ_IOC_DRAIN.
DRAIN_RELATIVE: Final = 1 << 0

HISTOGRAM_BUCKETS: Final = 11

STATE_SHUT_DOWN: Final = 1 << 0
STATE_UNLINKED: Final = 1 << 1
STATE_PAUSED: Final = 1 << 2
STATE_TERM_OVER: Final = 1 << 3

BOARD_KEY_MAX: Final = 56

# Flags of KWQ_IOC_CHANGES.
CHANGES_NONBLOCK: Final = 1 << 0
CHANGES_RELATIVE: Final = 1 << 1
CHANGES_VALUES: Final = 1 << 2
CHANGES_GETTERS: Final = 1 << 3
CHANGES_NOTES: Final = 1 << 4

# Flags of KWQ_IOC_TERM.
TERM_RELATIVE: Final = 1 << 0

# What an add of the kernel returns that a worker carries out soon.
POSTED: Final = 64

# Most bytes of a value that is a set.
SET_MAX: Final = 256

SET_JOINS: Final = 1 << 31

# Flags of KWQ_IOC_SYNC.
SYNC_RELATIVE: Final = 1 << 0

INFO: Final = Layout("kwq_info", """
    size:I key_max:I features:Q max_items:Q max_bytes:Q max_queues:I name_max:I batch_max:I priority_min:i
    priority_max:i user_queues:I user_queues_left:I pad:I max_user_bytes:Q max_total_bytes:Q user_bytes:Q
    user_bytes_left:Q
""")
BACKOFF: Final = Layout("kwq_backoff", "duration:Q cap:Q factor:I jitter:I steps:I pad:I")
LIMITER: Final = Layout("kwq_limiter", "kind:I pad:I u:32s")
EXPONENTIAL: Final = Layout("kwq_limiter.u.exponential", "base:Q max:Q")
FAST_SLOW: Final = Layout("kwq_limiter.u.fast_slow", "fast:Q slow:Q nr_fast:I pad:I")
BUCKET: Final = Layout("kwq_limiter.u.bucket", "period:Q events:I burst:I")
CONFIG: Final = Layout("kwq_config", """
    size:I flags:I max_wait:Q forget_after:Q dead_after:I nr:I limiters:Q limiter_size:I dead_after_lost:I
""")
CREATE_ARGS: Final = Layout("kwq_create_args", """
    size:I flags:I open_flags:I mode:I clockid:i rights:I max_items:Q max_bytes:Q name:256s config:Q lease:Q aging:Q
    group_limit:I outbox:i
""")
OPEN_ARGS: Final = Layout("kwq_open_args", "size:I open_flags:I rights:I pad:I name:256s")
UNLINK_ARGS: Final = Layout("kwq_unlink_args", "size:I flags:I name:256s")
LIST_ENTRY: Final = Layout("kwq_list_entry", "uid:I gid:I mode:I pad:I name:256s")
LIST_ARGS: Final = Layout("kwq_list_args", "size:I flags:I entries:Q nr:I entry_size:I after:256s")
BATCH: Final = Layout("kwq_batch", "entries:Q keys:Q results:Q extras:Q keys_len:I nr:I entry_size:I extra_size:I")
BATCH_ARGS: Final = Layout("kwq_batch_args", """
    size:I flags:I batch.entries:Q batch.keys:Q batch.results:Q batch.extras:Q batch.keys_len:I batch.nr:I
    batch.entry_size:I batch.extra_size:I
""")
ADD_ARGS: Final = Layout("kwq_add_args", """
    size:I flags:I batch.entries:Q batch.keys:Q batch.results:Q batch.extras:Q batch.keys_len:I batch.nr:I
    batch.entry_size:I batch.extra_size:I deadline:Q resume:Q
""")
ADD_ENTRY: Final = Layout("kwq_add_entry", "key_len:I flags:I priority:i pad:I time:Q")
ADD_EXTRA: Final = Layout("kwq_add_extra", """
    value:Q group:Q note:Q at_most:Q value_len:I group_len:I note_len:I pad:I token:Q
""")
DONE_ENTRY: Final = Layout("kwq_done_entry", "ticket:Q key_len:I flags:I")
EXTEND_ENTRY: Final = Layout("kwq_extend_entry", "ticket:Q key_len:I flags:I")
REMOVE_ENTRY: Final = Layout("kwq_remove_entry", "key_len:I flags:I change:Q")
KEY_ENTRY: Final = Layout("kwq_key_entry", "key_len:I flags:I")
LISTED: Final = Layout("kwq_listed", """
    order:Q dirty_for:Q processing_for:Q waiting_for:Q due_in:Q dead_for:Q lease_left:Q state:I order_of:I key_len:I
    group_len:I value_len:I note_len:I priority:i next_priority:i wait_priority:i requeues:I abandoned:I pid:i change:Q
    token:Q
""")
LIST_ITEMS_ARGS: Final = Layout("kwq_list_items_args", """
    size:I flags:I after:Q states:I key_len:I key:Q batch.entries:Q batch.keys:Q batch.results:Q batch.extras:Q
    batch.keys_len:I batch.nr:I batch.entry_size:I batch.extra_size:I
""")
RESTORE_ENTRY: Final = Layout("kwq_restore_entry", """
    key_len:I flags:I state:I priority:i wait_priority:i requeues:I abandoned:I pad:I dirty_for:Q waiting_for:Q due_in:Q
    dead_for:Q
""")
ADVANCE_ARGS: Final = Layout("kwq_advance_args", "size:I flags:I time:Q")
GOT: Final = Layout("kwq_got", "ticket:Q key_len:I priority:i abandoned:I requeues:I")
GOT_EXTRA: Final = Layout("kwq_got_extra", "value_len:I group_len:I token:Q")
GET_ARGS: Final = Layout("kwq_get_args", """
    size:I flags:I deadline:Q add.entries:Q add.keys:Q add.results:Q add.extras:Q add.keys_len:I add.nr:I
    add.entry_size:I add.extra_size:I done.entries:Q done.keys:Q done.results:Q done.extras:Q done.keys_len:I done.nr:I
    done.entry_size:I done.extra_size:I get.entries:Q get.keys:Q get.results:Q get.extras:Q get.keys_len:I get.nr:I
    get.entry_size:I get.extra_size:I nr_added:I nr_done:I resume:Q
""")
PAUSE_ARGS: Final = Layout("kwq_pause_args", "size:I flags:I time:Q")
RESUME_ARGS: Final = Layout("kwq_resume_args", "size:I flags:I")
SHUT_DOWN_ARGS: Final = Layout("kwq_shut_down_args", "size:I flags:I")
DRAIN_ARGS: Final = Layout("kwq_drain_args", "size:I flags:I deadline:Q resume:Q shut_downs:Q")
HISTOGRAM: Final = Layout("kwq_histogram", "sum:Q sum_high:Q counts:88s")
STAT: Final = Layout("kwq_stat", """
    size:I state:I ready:Q waiting:Q processing:Q items:Q bytes:Q max_items:Q max_bytes:Q adds:Q coalesced:Q gets:Q
    dones:Q abandoned:Q removed:Q dropped:Q uid:I gid:I mode:I clockid:i handles:I create_flags:I name:256s now:Q
    retries:Q rate_limited:Q died:Q dead:Q remembered:Q oldest_ready:Q longest_running:Q unfinished:Q
    queue_duration:104s work_duration:104s lateness:104s lease:Q expired:Q dirty:Q values:Q paused_for:Q aging:Q
    groups:Q blocked:Q group_limit:Q oldest_waiting:Q oldest_dead:Q returned:Q posted:Q id:Q last_change:Q kept:Q
    unread:Q followers:I getters:I term:Q refused:Q
""")
BOARD_SLOT: Final = Layout("kwq_board_slot", "seq:I len:H result:H key:56s")
BOARD: Final = Layout("kwq_board", "seed:Q nr_slots:I closed:I pad:48s")
BOARD_ARGS: Final = Layout("kwq_board_args", "size:I open_flags:I map_size:Q")
TELL_ARGS: Final = Layout("kwq_tell_args", "size:I flags:I adds:Q")
FOLLOW_ARGS: Final = Layout("kwq_follow_args", "size:I flags:I number:Q")
CHANGES_ARGS: Final = Layout("kwq_changes_args", """
    size:I flags:I after:Q kept:Q of_queue:Q deadline:Q resume:Q batch.entries:Q batch.keys:Q batch.results:Q
    batch.extras:Q batch.keys_len:I batch.nr:I batch.entry_size:I batch.extra_size:I
""")
TERM_ARGS: Final = Layout("kwq_term_args", "size:I flags:I until:Q")
BPF_ARGS: Final = Layout("kwq_bpf_args", "size:I flags:I token:Q")
BPF_KWQ_OPTIONS: Final = Layout("bpf_kwq_options", "token:Q flags:I priority:i time:Q at_most:Q")
SYNC_ARGS: Final = Layout("kwq_sync_args", "size:I flags:I deadline:Q resume:Q")

IOC_INFO: Final = request(3, 0x00)
IOC_CREATE: Final = request(1, 0x01)
IOC_OPEN: Final = request(1, 0x02)
IOC_UNLINK: Final = request(1, 0x03)
IOC_LIST: Final = request(1, 0x04)
IOC_ADD: Final = request(3, 0x10)
IOC_GET: Final = request(3, 0x11)
IOC_DONE: Final = request(1, 0x12)
IOC_REMOVE: Final = request(1, 0x13)
IOC_LEN: Final = request(0, 0x14)
IOC_STAT: Final = request(3, 0x15)
IOC_SHUT_DOWN: Final = request(1, 0x16)
IOC_SHUTTING_DOWN: Final = request(0, 0x17)
IOC_DRAIN: Final = request(3, 0x18)
IOC_FORGET: Final = request(1, 0x19)
IOC_REQUEUES: Final = request(1, 0x1a)
IOC_CONFIGURE: Final = request(1, 0x1b)
IOC_CONFIG: Final = request(3, 0x1c)
IOC_ADVANCE: Final = request(1, 0x1e)
IOC_EXTEND: Final = request(1, 0x1f)
IOC_PAUSE: Final = request(1, 0x20)
IOC_RESUME: Final = request(1, 0x21)
IOC_LIST_ITEMS: Final = request(3, 0x22)
IOC_RESTORE: Final = request(1, 0x23)
IOC_BOARD: Final = request(3, 0x24)
IOC_TELL: Final = request(1, 0x25)
IOC_FOLLOW: Final = request(3, 0x26)
IOC_CHANGES: Final = request(3, 0x27)
IOC_SYNC: Final = request(3, 0x28)
IOC_TERM: Final = request(1, 0x29)
IOC_BPF: Final = request(3, 0x2a)
