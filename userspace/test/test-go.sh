# SPDX-License-Identifier: LGPL-2.1-or-later OR MIT
# shellcheck shell=bash source-path=SCRIPTDIR disable=SC2317
#
# The Go packages: their format, go vet on several architectures, their tests that need no device, and the program of docs/go.md.
. ./tap.sh

if ! command -v go >/dev/null; then
	skip "the Go packages" "there is no go"
	done_testing
fi
export CGO_ENABLED=0 GOFLAGS=-mod=mod GOPROXY=off GOCACHE=$O/go-cache
cd "$SRC/go" || exit 1
module=$(sed -n 's/^module //p' go.mod)

same "gofmt changes nothing" "$(gofmt -l .)" ''
for architecture in 386 amd64 arm64 mips64le ppc64le riscv64 s390x; do
	ok "go vet for $architecture" env GOARCH=$architecture go vet ./...
done

# tests NAME COMMAND...: each test is a case. Tests that are skipped need a device.
tests() {
	local suite=$1 line
	shift

	ok "$suite" "$@"
	while read -r line; do
		same "$suite: ${line#--- ????: }" "${line:0:9}" '--- PASS:'
	done < <(grep -E '^--- (PASS|FAIL):' "$WORK/said" | sed 's/ (.*//')
}

tests "go test" go test -timeout 2m -count 1 -v ./...
if CGO_ENABLED=1 go test -race -count 1 -run NoSuchTest . >/dev/null 2>&1; then
	ok "go test -race" env CGO_ENABLED=1 go test -race -timeout 5m -count 1 ./...
else
	skip "go test -race" "there is no race detector"
fi
ok "the program of go.md is compiled" go build -o "$WORK/hosts" ./examples/hosts
if [ -f "$SRC/../docs/go.md" ]; then
	same "go.md has that program" "$(sed -n '/^package main$/,/^```$/p' "$SRC/../docs/go.md" | sed '/^```$/d')" \
		"$(sed -n '/^package main$/,$p' examples/hosts/main.go)"
fi
ok "the sources are installed" "${MAKE[@]}" DESTDIR="$WORK/root" PREFIX=/usr install-go
mkdir "$WORK/program"
cp examples/hosts/main.go "$WORK/program"
cd "$WORK/program" || exit 1
ok "a program uses them in GOPATH mode" env GO111MODULE=off GOFLAGS= GOPATH="$WORK/root/usr/share/gocode" go build -o example .
ok "a module is made" go mod init example.test
ok "it requires them" go mod edit -require "$module@v0.0.0" -replace "$module=$WORK/root/usr/share/gocode/src/$module"
ok "and uses them" go build -o example .

# A module proxy serves any path, also one whose domain nobody has.
proxy=$WORK/proxy/$module/@v
mkdir -p "$proxy"
cp "$SRC/go/go.mod" "$proxy/v1.0.0.mod"
echo v1.0.0 >"$proxy/list"
echo '{"Version":"v1.0.0"}' >"$proxy/v1.0.0.info"
python3 - "$WORK/root/usr/share/gocode/src/$module" "$module@v1.0.0" "$proxy/v1.0.0.zip" <<'PYTHON'
import sys, zipfile
from pathlib import Path
source, prefix, archive = sys.argv[1:]
with zipfile.ZipFile(archive, 'w') as z:
    for file in Path(source).rglob('*'):
        if file.is_file():
            z.write(file, f'{prefix}/{file.relative_to(source)}')
PYTHON
export GOPROXY=file://$WORK/proxy GONOSUMDB=$module GOPATH=$WORK/path GOFLAGS='-mod=mod -modcacherw'
mkdir "$WORK/proxied"
cp "$WORK/program/main.go" "$WORK/proxied"
cd "$WORK/proxied" || exit 1
ok "another module is made" go mod init proxied.test
ok "go get finds the module in a proxy" go get "$module@latest"
ok "and uses it" go build -o example .
export GOPROXY=off GOFLAGS=-mod=mod

# Another path, in a copy: nothing but the script knows the path.
mkdir "$WORK/renamed"
cp -r "$SRC/go" "$WORK/renamed"
ok "the module gets another path" env TOP="$WORK/renamed" "$WORK/renamed/go/rename" go.example.test/some-queue/kwq
cd "$WORK/renamed/go" || exit 1
ok "and is compiled under it" go vet ./...
same "nothing has the old path" "$(grep -rF "$module" .)" ''

done_testing
