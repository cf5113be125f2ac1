# SPDX-License-Identifier: LGPL-2.1-or-later OR MIT
# shellcheck shell=bash source-path=SCRIPTDIR disable=SC2016,SC2317
#
# The completions for zsh and fish propose what the one for bash does, which test-completion.sh tests.
. ./tap.sh

mkdir "$WORK/bin"
cat >"$WORK/bin/kwq" <<END
#!/bin/sh
if [ "\$*" = ls ]; then
	printf '%s\n' jobs 'two words'
else
	exec "$KWQ" "\$@"
fi
END
chmod +x "$WORK/bin/kwq"
PATH=$WORK/bin:$PATH
for file in _kwq kwq.fish; do
	sed "s|@COMPLETIONDIR@|$SRC/packaging/completion|" "$SRC/packaging/completion/$file.in" >"$WORK/$file"
done

in_bash() {
	bash "$SRC/packaging/completion/kwq" "$@" | sort
}

# With compadd and _normal replaced, because they only work while zsh edits a line.
in_zsh() {
	zsh -f -c '
		compadd() { shift; print -rl -- "$@" }
		_normal() { print -r -- "the command: $words, word $CURRENT" }
		file=$1
		shift
		words=(kwq "$@")
		CURRENT=$#words
		PREFIX=$words[-1]
		set --
		. "$file"' zsh "$WORK/_kwq" "$@" | sort
}

in_fish() {
	HOME=$WORK XDG_CONFIG_HOME=$WORK XDG_DATA_HOME=$WORK fish --no-config -c '
		source $argv[1]
		set -l last $argv[-1]
		set -l words (string escape -- $argv[2..-2])
		complete -C "kwq $words $last" | string replace -r "\t.*" ""' "$WORK/kwq.fish" "$@" | sort
}

for shell in zsh fish; do
	if ! command -v "$shell" >/dev/null; then
		skip "$shell" "there is none"
		continue
	fi
	while read -r -a words; do
		[ "${words[-1]}" != . ] || words[-1]=
		same "U5: $shell: kwq ${words[*]}" "$("in_$shell" "${words[@]}")" "$(in_bash "${words[@]}")"
	done <<-'END'
		.
		d
		add .
		add --quiet j
		get --n
		run --
		create --clock .
		debug create --outbox j
		debug .
		create --
		keys --state ready,de
		keys --dead .
		cancel jobs .
		top --sort q
		get fd:
	END
	for command in $("$KWQ" --options | grep -vx -e help -e debug -e '-.*'); do
		same "U5: $shell: the options of $command" "$("in_$shell" "$command" --)" \
			"$("$KWQ" --options "$command" | sed -n 's/^\(--[^=]*\).*/\1/p' | sort)"
	done
done
if command -v zsh >/dev/null; then
	same "U5: zsh: a command behind --" "$(in_zsh run jobs -- ls -l)" 'the command: ls -l, word 2'
fi
if command -v fish >/dev/null; then
	ok "U5: fish: a command behind --" grep -qx test-completion-shells.sh \
		<(in_fish run jobs -- cat test-completion-sh)
fi

done_testing
