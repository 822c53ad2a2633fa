//go:build linux

package conformance_test

import (
	"strings"
	"testing"
	"time"

	"gotest.tools/v3/assert"
)

// honest is a shell script of a server with one tool for each way to misbehave in a call. It reads
// one line at a time, and recognizes the requests of a legacy client by their text.
const honest = `
stdwire() { cut -d' ' -f4 "/proc/$PPID/stat"; } # the parent of the guard of this process
answer() { printf '{"jsonrpc":"2.0","id":%s,"result":%s}\n' "$1" "$2"; }
serve() {
	while read -r line; do
		id=${line#*\"id\":}
		id=${id%%[,\}]*}
		case $line in
		*'"notifications/'*) ;;
		*'"server/discover"'*) printf '{"jsonrpc":"2.0","id":%s,"error":{"code":-32601,"message":"Method not found"}}\n' "$id" ;;
		*'"initialize"'*) answer "$id" '{"protocolVersion":"2025-06-18","capabilities":{"tools":{}},"serverInfo":{"name":"sh","version":"1"}}' ;;
		*'"tools/list"'*) answer "$id" '{"tools":[{"name":"ok","inputSchema":{"type":"object"}},{"name":"hang","inputSchema":{"type":"object"}},{"name":"crash","inputSchema":{"type":"object"}},{"name":"interrupt","inputSchema":{"type":"object"}},{"name":"terminate","inputSchema":{"type":"object"}},{"name":"fail","inputSchema":{"type":"object"}}]}' ;;
		*'"name":"ok"'*) answer "$id" '{"content":[{"type":"text","text":"fine"}]}' ;;
		*'"name":"fail"'*) answer "$id" '{"content":[{"type":"text","text":"out of paper"}],"isError":true}' ;;
		*'"name":"interrupt"'*) kill -INT $(stdwire) ;;
		*'"name":"terminate"'*) kill -TERM $(stdwire) ;;
		*'"name":"crash"'*) echo 'segmentation vault' >&2; exit 9 ;;
		esac
	done
}
`

// soon is less than the 30 seconds that a server may take to start, and than the 300 seconds that
// the servers here wait, and enough for a machine with more to do.
const soon = 20 * time.Second

// The results of `stdwire` with servers that misbehave. All these servers have ended when it has.
func TestBrokenServers(t *testing.T) {
	t.Parallel()
	tools := []string{"tools"}
	for name, test := range map[string]struct {
		server string // a script for sh
		args   []string
		code   int
		stdout string
		stderr []string
	}{
		"crashes at start": {
			server: `echo 'Starting' >&2; echo 'boom: missing API key' >&2; exit 3`,
			args:   tools, code: 4, stderr: []string{"3", "boom: missing API key"},
		},
		"is killed at start": {
			server: `kill -9 $$`,
			args:   tools, code: 4, stderr: []string{"killed"},
		},
		"ends without a word": {
			server: `exit 0`,
			args:   tools, code: 4, stderr: []string{"0"},
		},
		"closes stdout and goes on": {
			server: `exec >&-; sleep 300`,
			args:   tools, code: 4,
		},
		"never answers": {
			server: `cat >/dev/null; sleep 300`,
			args:   []string{"tools", "--start-timeout", "1s"}, code: 4,
			stderr: []string{"no answer to server/discover after "},
		},
		"never answers, and ignores SIGTERM and the end of stdin": {
			server: `trap '' TERM HUP INT; while :; do sleep 300; done`,
			args:   []string{"tools", "--start-timeout", "1s"}, code: 4,
		},
		"logs to stdout, ends lines with CRLF, and writes in pieces": {
			server: honest + `
				echo 'Starting server…'; echo; echo '[debug] {"not":"a message"'
				serve | while read -r line; do
					printf '%.20s' "$line"; sleep 0.05; printf '%s\r\n\r\nDEBUG: sent\n' "$(printf %s "$line" | cut -c21-)"
				done`,
			args: []string{"call", "ok"}, stdout: "fine",
		},
		"has a grandchild that keeps stdout open": {
			server: honest + `sleep 300 & serve`,
			args:   []string{"call", "ok"}, stdout: "fine",
		},
		"dies, and its grandchild keeps stdout open": {
			server: `sleep 300 & echo 'no license' >&2; exit 5`,
			args:   tools, code: 4, stderr: []string{"5", "no license"},
		},
		"has a grandchild that ignores SIGTERM": {
			server: honest + `(trap '' TERM HUP; while :; do sleep 300; done) & serve`,
			args:   []string{"call", "ok"}, stdout: "fine",
		},
		"fails": {
			server: honest + `serve`,
			args:   []string{"call", "fail"}, code: 5, stderr: []string{"out of paper"},
		},
		"hangs in a call": {
			server: honest + `serve`,
			args:   []string{"call", "hang", "--timeout", "1s"}, code: 6,
			stderr: []string{"hang", "after "},
		},
		"crashes in a call": {
			server: honest + `serve`,
			args:   []string{"call", "crash"}, code: 6, stderr: []string{"9", "segmentation vault"},
		},
		"hangs, and the user presses Ctrl-C": {
			server: honest + `sleep 300 & serve`,
			args:   []string{"call", "interrupt"}, code: 130,
		},
		"hangs, and stdwire is told to end": {
			server: honest + `sleep 300 & serve`,
			args:   []string{"call", "terminate"}, code: 143,
		},
		"answers with half a message": {
			server: `read -r line; printf '{"jsonrpc":"2.0","id":1,"res'; exit 7`,
			args:   tools, code: 4, stderr: []string{"7"},
		},
		"floods stderr": {
			server: honest + `yes 'a line that nobody reads' | head -c 3000000 >&2; serve`,
			args:   []string{"call", "ok"}, stdout: "fine",
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			b := newBench(t)
			b.write("server", test.server)
			o := b.run(append(append([]string{binary(t)}, test.args...), "--", "sh", "./server")...)
			assert.Equal(t, o.code, test.code, "%v", o)
			b.ended()
			assert.Assert(t, strings.Contains(o.stdout, test.stdout), "%v", o)
			for _, part := range test.stderr {
				assert.Assert(t, strings.Contains(o.stderr, part), "%q is not told: %v", part, o)
			}
			assert.Assert(t, o.took < soon, "%v", o)
			t.Logf("exit code %d after %v: %s", o.code, o.took.Round(time.Millisecond), o.stderr)
		})
	}
}

func TestServerThatDoesNotExist(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	o := b.run(binary(t), "tools", "--", "no-such-server")
	assert.Equal(t, o.code, 4, "%v", o)
	assert.Assert(t, strings.Contains(o.stderr, "no-such-server"), "%v", o)
	assert.Assert(t, o.took < soon, "%v", o)
}

func TestRequestTooLargeIsNotSent(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	b.write("server", honest+"serve")
	b.write("large", strings.Repeat("x", 12<<20))
	o := b.run(binary(t), "call", "ok", "text=@large", "--", "sh", "./server")
	assert.Equal(t, o.code, 7, "%v", o)
}
