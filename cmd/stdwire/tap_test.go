//go:build unix

package main

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"syscall"
	"testing"
	"time"

	"gotest.tools/v3/assert"
	"gotest.tools/v3/assert/cmp"
)

// piped is a running stdwire, with its stdin and stdout.
type piped struct {
	*exec.Cmd
	in     io.WriteCloser
	out    io.ReadCloser
	stderr *bytes.Buffer
}

func pipe(t *testing.T, args ...string) *piped {
	t.Helper()
	cmd, _, stderr := stdwire(t, args...)
	cmd.Stdout = nil
	in, err := cmd.StdinPipe()
	assert.NilError(t, err)
	out, err := cmd.StdoutPipe()
	assert.NilError(t, err)
	assert.NilError(t, cmd.Start())
	return &piped{cmd, in, out, stderr}
}

// Line reads a line.
func (p *piped) Line(t *testing.T) string {
	t.Helper()
	line, err := bufio.NewReader(io.LimitReader(p.out, 1<<10)).ReadString('\n')
	assert.NilError(t, err)
	return line
}

// garbage returns a stream of all kinds of frames and bytes that are not a frame.
func garbage(r *rand.Rand) []byte {
	var stream []byte
	for range 200 {
		payload := fmt.Sprintf(`{"jsonrpc":"2.0","id":%d,"method":"m","params":{"x":"%s"}}`,
			r.IntN(9), strings.Repeat("y", r.IntN(3000)))
		switch r.IntN(5) {
		case 0:
			stream = append(stream, payload+"\r\n"...)
		case 1:
			stream = fmt.Appendf(stream, "Content-Length: %d\r\n\r\n%s", len(payload), payload)
		case 2:
			stream = append(stream, "\x00\xff\x1b[1m junk\n"...)
		case 3:
			stream = append(stream, payload[:r.IntN(len(payload))]...)
		default:
			stream = append(stream, payload+"\n"...)
		}
	}
	return stream
}

// Every byte passes in both directions and is in the recording.
func TestTapIsTransparent(t *testing.T) {
	t.Parallel()
	for seed := range uint64(3) {
		file := filepath.Join(t.TempDir(), "talk.jsonl")
		r := rand.New(rand.NewPCG(seed, 0))
		stream := garbage(r)
		p := pipe(t, "tap", "-o", file, "--live", "--", "cat")
		go func() {
			for rest := stream; len(rest) > 0; {
				n := min(1+r.IntN(5000), len(rest))
				_, _ = p.in.Write(rest[:n])
				rest = rest[n:]
			}
			_ = p.in.Close()
		}()
		got, err := io.ReadAll(p.out)
		assert.NilError(t, err)
		assert.NilError(t, p.Wait())
		assert.Assert(t, bytes.Equal(got, stream))
		recording, err := os.ReadFile(file)
		assert.NilError(t, err)
		assert.Equal(t, strings.Count(string(recording), `"from":"client"`),
			strings.Count(string(recording), `"from":"server"`))
		assert.Assert(t,
			cmp.Contains(string(recording),
				fmt.Sprintf(`"client_bytes":%d,"server_bytes":%d}`, len(stream), len(stream))))
		info, err := os.Stat(file)
		assert.NilError(t, err)
		assert.Equal(t, info.Mode().Perm(), os.FileMode(0o600))
		assert.Assert(t, !strings.ContainsAny(p.stderr.String(), "\x1b\x00"))
	}
}

// Half a message passes at once.
func TestTapForwardsPartialMessages(t *testing.T) {
	t.Parallel()
	p := pipe(t, "tap", "--live", "--", "cat")
	buf := make([]byte, 100)
	for _, part := range []string{`{"half`, `":1}`, "\n", "Content-Length: 5\r\n"} {
		_, err := io.WriteString(p.in, part)
		assert.NilError(t, err)
		n, err := p.out.Read(buf)
		assert.NilError(t, err)
		assert.Equal(t, string(buf[:n]), part)
	}
	assert.NilError(t, p.in.Close())
	assert.NilError(t, p.Wait())
}

// The tap ends with the exit code of the server and forwards signals.
func TestTapEndsAsTheServer(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		script  string
		signals []os.Signal
		code    int
		stderr  string
	}{
		{"exit 0", nil, 0, ""},
		{"echo oops >&2; exit 7", nil, 7, "oops\n"},
		{"kill -KILL $$", nil, 137, ""},
		{"echo; read x; exit 4", nil, 4, ""}, // stdin ends
		{"trap 'exit 5' TERM; echo; while :; do sleep 0.01; done", []os.Signal{syscall.SIGTERM}, 5,
			""},
		{"trap 'exit 6' USR1; echo; while :; do sleep 0.01; done", []os.Signal{syscall.SIGUSR1}, 6,
			""},
		{"trap 'trap \"exit 8\" INT; echo again' INT; echo; while :; do sleep 0.01; done",
			[]os.Signal{os.Interrupt, os.Interrupt}, 8, ""},
		{"trap 'exit 0' TERM; echo; while :; do sleep 0.01; done", []os.Signal{syscall.SIGTERM}, 0,
			""},
		{"echo; exec sleep 100", []os.Signal{syscall.SIGHUP}, 129, ""},
	} {
		p := pipe(t, "tap", "--live", "--", "sh", "-c", tt.script)
		for _, s := range tt.signals {
			p.Line(t)
			assert.NilError(t, p.Process.Signal(s))
		}
		if tt.signals == nil && strings.Contains(tt.script, "read") {
			p.Line(t)
			assert.NilError(t, p.in.Close())
		}
		_, _ = io.Copy(io.Discard, p.out)
		assert.Equal(t, exitCode(p.Wait()), tt.code, "%s: %s", tt.script, p.stderr)
		if tt.stderr != "" {
			assert.Assert(t, cmp.Contains(p.stderr.String(), tt.stderr))
		}
	}
	got := run(t, "tap", "--live", "--", "no-such-server")
	assert.Equal(t, got.code, 4)
	assert.Assert(t, strings.HasPrefix(got.stderr, "stdwire: no-such-server: start: "), got.stderr)
}

// A closed stream is closed on the other side, too.
func TestTapClosesBothSides(t *testing.T) {
	t.Parallel()
	p := pipe(t, "tap", "--live", "--", "yes") // the client stops reading
	p.Line(t)
	assert.NilError(t, p.out.Close())
	assert.Equal(t, exitCode(p.Wait()), 128+int(syscall.SIGPIPE), p.stderr)

	// the server has closed its stdout
	p = pipe(t, "tap", "--live", "--", "sh", "-c", "exec >&-; read line")
	_, err := io.ReadAll(p.out)
	assert.NilError(t, err)
	_, err = io.WriteString(p.in, "x\n")
	assert.NilError(t, err)
	assert.NilError(t, p.Wait())

	// the server has closed its stdin
	p = pipe(t, "tap", "--live", "--", "sh", "-c", "exec <&-; echo; exec sleep 100")
	p.Line(t)
	for err == nil {
		_, err = io.WriteString(p.in, "x\n")
	}
	assert.Assert(t, errors.Is(err, syscall.EPIPE), err)
	assert.NilError(t, p.Process.Signal(syscall.SIGTERM))
	assert.Equal(t, exitCode(p.Wait()), 143)
}

// A slow reader slows the writer, and memory stays bounded.
func TestTapSlowReaders(t *testing.T) {
	t.Parallel()
	for name, args := range map[string][]string{"server": {"sh", "-c", "exec sleep 100"},
		"client": {"cat"}} {
		cmd, _, _ := stdwire(t,
			append([]string{"tap", "-o", filepath.Join(t.TempDir(), "f"), "--"}, args...)...)
		r, w, err := os.Pipe()
		assert.NilError(t, err)
		out, stdout, err := os.Pipe()
		assert.NilError(t, err)
		cmd.Stdin, cmd.Stdout = r, stdout
		assert.NilError(t, cmd.Start())
		assert.NilError(t, r.Close())
		assert.NilError(t, stdout.Close())
		chunk := bytes.Repeat([]byte("0123456789abcde\n"), 1<<12)
		total := 0
		for err == nil {
			assert.NilError(t, w.SetWriteDeadline(time.Now().Add(500*time.Millisecond)))
			var n int
			n, err = w.Write(chunk)
			total += n
		}
		assert.Assert(t, errors.Is(err, os.ErrDeadlineExceeded), err)
		// a few pipes, and a buffer for each
		assert.Assert(t, total < 1<<20, "%s: %d bytes", name, total)
		assert.NilError(t, w.Close())
		if name == "client" {
			got, err := io.ReadAll(out)
			assert.NilError(t, err)
			assert.Equal(t, len(got), total)
		} else {
			assert.NilError(t, cmd.Process.Signal(syscall.SIGTERM))
		}
		_ = cmd.Wait()
		_ = out.Close()
	}
}

// A host that does not read stderr gets all answers, the recording is complete, and the tap ends.
func TestTapWithUnreadStderr(t *testing.T) {
	t.Parallel()
	file := filepath.Join(t.TempDir(), "f")
	cmd, _, _ := stdwire(t, "tap", "--live", "-o", file, "--", "cat")
	r, w, err := os.Pipe()
	assert.NilError(t, err)
	defer r.Close()
	cmd.Stdout, cmd.Stderr = nil, w
	in, err := cmd.StdinPipe()
	assert.NilError(t, err)
	out, err := cmd.StdoutPipe()
	assert.NilError(t, err)
	assert.NilError(t, cmd.Start())
	assert.NilError(t, w.Close())
	stream := strings.Repeat(`{"method":"`+strings.Repeat("m", 200)+`"}`+"\n", 400)
	got := make([]byte, len(stream))
	for begun := 0; begun < len(stream); { // the answers come before the end of the input
		const part = 4 << 10 // which a pipe can hold
		end := min(begun+part, len(stream))
		_, err = io.WriteString(in, stream[begun:end])
		assert.NilError(t, err)
		_, err = io.ReadFull(out, got[begun:end])
		assert.NilError(t, err)
		begun = end
	}
	assert.Equal(t, string(got), stream)
	assert.NilError(t, in.Close())
	rest, err := io.ReadAll(out)
	assert.NilError(t, err)
	assert.Equal(t, string(rest), "")
	assert.NilError(t, cmd.Wait())
	recording, err := os.ReadFile(file)
	assert.NilError(t, err)
	assert.Assert(t,
		bytes.HasSuffix(recording,
			fmt.Appendf(nil, `"client_bytes":%d,"server_bytes":%[1]d}`+"\n", len(stream))))
}

func TestTapOfAConversation(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	name := filepath.Join(dir, "a.txt")
	assert.NilError(t, os.WriteFile(name, []byte("hello\n"), 0o600))
	then := time.Unix(1e9, 0)
	assert.NilError(t, os.Chtimes(name, then, then))
	file := talk(t, dir)

	got := run(t, "tap", "show", file)
	assert.Equal(t, got.code, 0, got.stderr)
	lines := strings.Split(strings.TrimSpace(got.stdout), "\n")
	assert.Equal(t, len(lines), 7, got.stdout)
	for i, want := range []string{"#1 server/discover ", "#1 server/discover ", "#2 tools/list ",
		"#2 tools/list ", "#3 tools/call fs_read ", "#3 tools/call fs_read ", "-- ended after "} {
		assert.Assert(t, cmp.Contains(lines[i], want))
	}
	for _, tt := range []struct {
		args  string
		lines int
	}{{"--method tools/call", 2}, {"--id 2", 2}, {"--id 2 --method tools/call", 0}, {"--errors", 0},
		{"--from 1h", 0}, {"--to 1h", 7}, {"--method tools/list -o json", 2}} {
		got := run(t, append([]string{"tap", "show", file}, strings.Fields(tt.args)...)...)
		assert.Equal(t, strings.Count(got.stdout, "\n"), tt.lines, "%s: %s", tt.args, got.stdout)
	}

	got = run(t, "tap", "stats", file)
	assert.Assert(t, cmp.Contains(got.stdout, "→ 3 frames, "))
	assert.Assert(t,
		cmp.Contains(strings.Join(strings.Fields(got.stdout), " "), " → tools/call 1 0 "))
	assert.Assert(t, !strings.Contains(got.stdout, "without an answer"))
	got = run(t, "tap", "stats", file, "-o", "json")
	assert.Assert(t,
		cmp.Contains(got.stdout, `"unanswered":[],"unasked":[],"missing":0,"status":0}`))

	self, err := os.Executable()
	assert.NilError(t, err)
	server := []string{"--", self, "serve", "--root", dir}
	got = run(t, append([]string{"tap", "replay", file}, server...)...)
	assert.Equal(t, got, ran{0, "3 answers: 3 the same, 0 different, 0 missing\n", ""})

	assert.NilError(t, os.WriteFile(name, []byte("olleh\n"), 0o600))
	assert.NilError(t, os.Chtimes(name, then, then))
	got = run(t, append([]string{"tap", "replay", file, "--ignore", "text", "--ignore", "sha256"},
		server...)...)
	assert.Equal(t, got.stdout,
		"#3 tools/call fs_read (frame 6)\n  ~ result.structuredContent.data.content: \"hello\\n\" → \"olleh\\n\"\n3 answers: 2 the same, 1 different, 0 missing\n")
	assert.Equal(t, got.code, 10)
	assert.Equal(t, got.stderr,
		fmt.Sprintf("stdwire: %s: replay: 1 of 3 answers differ from the recording\n",
			filepath.Base(self)))
	got = run(t, append(
		[]string{"tap", "replay", file, "-o", "json", "--ignore=text", "--ignore=sha256"},
		server...)...)
	assert.Assert(t,
		cmp.Contains(got.stdout,
			`{"n":6,"method":"tools/call","about":"fs_read","id":3,"missing":false,"changes":[{"path":"result.structuredContent.data.content","old":"\"hello\\n\"","new":"\"olleh\\n\""}]}`))
	got = run(t, append(
		[]string{"tap", "replay", file, "--ignore", "content", "--ignore", "sha256"}, server...)...)
	assert.Equal(t, got.code, 0, got.stdout)

	for _, tt := range []struct {
		server []string
		code   int
		stderr string
	}{
		{[]string{"--", "sh", "-c", "echo broken >&2; exit 3"}, 6,
			`stdwire: sh: replay: exited with status 3: "broken"` + "\n"},
		{[]string{"--timeout", "20ms", "--", "cat"}, 6,
			"stdwire: cat: replay: too many responses are missing\nhint: it may need longer: --timeout 5m\n"},
		{[]string{"--", "no-such-server"}, 4, "stdwire: no-such-server: start: "},
		{nil, 2, "stdwire: tap replay: which server?\n"},
	} {
		got = run(t, append([]string{"tap", "replay", file}, tt.server...)...)
		assert.Equal(t, got.code, tt.code)
		assert.Assert(t, strings.HasPrefix(got.stderr, tt.stderr), got.stderr)
	}
}

func TestTapRedacts(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	assert.NilError(t, os.WriteFile(filepath.Join(dir, "a.txt"), []byte("hello\n"), 0o600))
	file := talk(t, dir, "--redact")
	recording, err := os.ReadFile(file)
	assert.NilError(t, err)
	assert.Assert(t, cmp.Contains(string(recording), `"arguments":{"path":"string(5) `))
	assert.Assert(t, !strings.Contains(string(recording), dir))
	got := run(t, "tap", "replay", file, "--", "cat")
	assert.Equal(t, got.code, 2)
	assert.Assert(t,
		cmp.Contains(got.stderr, "the recording is redacted: it lacks the values to send\n"))
	assert.Equal(t, run(t, "tap", "stats", file).code, 0)
}

// An existing recording is not overwritten, and a truncated one is read up to its end.
func TestTapRecordings(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	file := filepath.Join(dir, "talk.jsonl")
	for _, want := range []string{"", "talk-2.jsonl", "talk-3.jsonl"} {
		cmd, _, stderr := stdwire(t, "tap", "-o", file, "--", "echo",
			`{"id":1,"error":{"code":5,"message":"n\u202eo"}}`)
		assert.NilError(t, cmd.Run())
		if want != "" {
			assert.Equal(t, stderr.String(),
				fmt.Sprintf("stdwire: tap: %s exists: recording in %s\n", file,
					filepath.Join(dir, want)))
		}
	}
	recording, err := os.ReadFile(filepath.Join(dir, "talk-3.jsonl"))
	assert.NilError(t, err)
	assert.NilError(t, os.WriteFile(file, recording[:len(recording)-10], 0o600))
	got := run(t, "tap", "show", file, "--errors")
	assert.Equal(t, got.code, 0)
	assert.Assert(t,
		strings.HasSuffix(got.stdout, ` #1 answers nothing 48 B error 5: n\u202eo`+"\n"),
		got.stdout)
	assert.Equal(t, got.stderr,
		fmt.Sprintf("note: %s: the recording ends in the middle of a line\n", file))

	for _, tt := range []struct{ args, stderr string }{
		{"tap -- cat", "stdwire: tap: add -o FILE or --live: without them there is nothing to do\n"},
		{"tap --live", "stdwire: tap: which server?\n"},
		{"tap shwo", "stdwire: tap: unexpected argument \"shwo\"\nhint: did you mean show?\n"},
		{"tap cat", "stdwire: tap: unexpected argument \"cat\"\nhint: a server command follows --: "},
		{"tap --max-size 5XB",
			"stdwire: tap: --max-size: \"5XB\" is not a size\nhint: write 500MB, 64MiB or 2GiB\n"},
		{"tap --max-size -5", "stdwire: tap: --max-size: \"-5\" is not a size\n"},
		{"tap -o /no/such/dir/f -- cat",
			"stdwire: tap: -o: open /no/such/dir/f: no such file or directory\n"},
		{"tap show", "stdwire: tap show: which recording?\n"},
		{"tap show --from x", "stdwire: tap show: --from: \"x\" is not a duration\n"},
		{"tap show a b", "stdwire: tap show: unexpected argument \"b\"\n"},
		{"tap stats /no/such/file",
			"stdwire: tap stats: open /no/such/file: no such file or directory\n"},
		{"tap stats tap_test.go",
			"stdwire: tap stats: tap_test.go: not a recording of stdwire tap\n"},
		{"tap --live show x", "stdwire: tap: unexpected argument \"show\"\n"},
	} {
		got := run(t, strings.Fields(tt.args)...)
		assert.Equal(t, got.code, 2, tt.args)
		assert.Assert(t, strings.HasPrefix(got.stderr, tt.stderr), "%s: %s", tt.args, got.stderr)
	}
	got = run(t, "tap", "show", "--help")
	assert.Equal(t, got.code, 0)
	assert.Assert(t, strings.HasPrefix(got.stdout, "usage: stdwire tap show "))
	assert.Assert(t,
		cmp.Contains(run(t, "help", "tap").stdout,
			"\n  stdwire tap show     show the messages of a recording\n"))
}

// A recording that is too large or cannot be written ends; the traffic continues.
func TestTapGoesOnWithoutTheRecording(t *testing.T) {
	t.Parallel()
	file := filepath.Join(t.TempDir(), "f")
	for _, tt := range []struct {
		flags  []string
		stderr string
	}{
		{[]string{"-o", file, "--max-size", "5kB"},
			"stdwire: tap: the recording ends here, the traffic continues: " + file +
				" has reached its --max-size\n"},
		{[]string{"-o", "/dev/full"},
			"stdwire: tap: the recording ends here, the traffic continues: write /dev/full: no space left on device\n"},
	} {
		if _, err := os.Stat("/dev/full"); err != nil && tt.flags[1] == "/dev/full" {
			continue
		}
		cmd, stdout, stderr := stdwire(t,
			append(append([]string{"tap"}, tt.flags...), "--", "cat")...)
		stream := strings.Repeat("a line\n", 1000)
		cmd.Stdin = strings.NewReader(stream)
		assert.NilError(t, cmd.Run())
		assert.Equal(t, stdout.String(), stream)
		assert.Equal(t, stderr.String(), tt.stderr)
	}
	info, err := os.Stat(file)
	assert.NilError(t, err)
	assert.Assert(t, info.Size() <= 5000)
	assert.Assert(t, cmp.Contains(run(t, "tap", "stats", file).stdout, "not in the recording: "))
}

// The example of --live in the help shows the traffic.
func TestLiveExampleOfTheHelp(t *testing.T) {
	t.Chdir("../..")
	help := run(t, "help", "tap").stdout
	example := regexp.MustCompile(`(?m)^  stdwire (call .*--live.*)$`).FindStringSubmatch(help)
	assert.Equal(t, len(example), 2, help)
	path, err := os.Executable()
	assert.NilError(t, err)
	args := strings.Fields(example[1])
	for i, word := range args {
		if word == "stdwire" {
			args[i] = path
		}
	}
	got := run(t, args...)
	assert.Equal(t, got.code, 0, got.stderr)
	assert.Assert(t, cmp.Contains(got.stdout, "README.md"))
	assert.Assert(t,
		regexp.MustCompile(`(?m)^→ +[0-9.]+ #\d+ tools/call fs_list \d+ B$`).MatchString(
			got.stderr), got.stderr)
	assert.Assert(t,
		regexp.MustCompile(`(?m)^← +[0-9.]+ #\d+ tools/call fs_list `).MatchString(got.stderr),
		got.stderr)
}
