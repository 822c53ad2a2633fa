package child

import (
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"gotest.tools/v3/assert"
)

const nodeCrash = `node:fs:573
  return binding.open(
                 ^

Error: ENOENT: no such file or directory, open '/etc/server.json'
    at Object.openSync (node:fs:573:18)
    at [eval]:1:15 {
  errno: -2,
  code: 'ENOENT',
  path: '/etc/server.json'
}

Node.js v20.20.2
`

const npmMissing = `npm error code E404
npm error 404 Not Found - GET https://registry.example/no-such-server
npm error 404
npm error 404  'no-such-server@*' is not in this registry.
npm error 404
npm error 404 Note that you can also install from a
npm error 404 tarball, folder, http url, or git url.
npm error A complete log of this run can be found in: /home/me/.npm/_logs/debug-0.log
`

const npmOffline = `npm error code ENOTFOUND
npm error syscall getaddrinfo
npm error network request to https://registry.example/x failed, reason: getaddrinfo ENOTFOUND registry.example
npm error network This is a problem related to network connectivity.
npm error network In most cases you are behind a proxy or have bad network settings.
npm error network
npm error network If you are behind a proxy, please make sure that the 'proxy' config is set properly.
npm error A complete log of this run can be found in: /home/me/.npm/_logs/debug-0.log
`

const uvMissing = `  × No solution found when resolving tool dependencies:
  ╰─▶ Because no-such-server was not found in the package
      registry and you require no-such-server, we can conclude that
      your requirements are unsatisfiable.
`

const pythonCrash = `Traceback (most recent call last):
  File "server.py", line 1, in <module>
    main()
ValueError: missing API key
`

// goCrash is what go run writes when the program panics.
const goCrash = "panic: missing API key\n\ngoroutine 1 [running]:\nmain.start(...)\n\t/src/main.go:9\nmain.main()\n\t/src/main.go:4 +0x18\ncreated by main.x in goroutine 7\n\t/src/main.go:3\nexit status 2\n"

func TestLastLine(t *testing.T) {
	for _, c := range []struct{ text, want string }{
		{"", ""},
		{"\n \n\t\n", ""},
		{"one\ntwo\n", "two"},
		{"no newline at the end", "no newline at the end"},
		{"boom\n\n\n", "boom"},
		{"trailing space \t\n", "trailing space"},
		{"  only indented\n", "only indented"},
		{"}\n", "}"},
		{nodeCrash, "Error: ENOENT: no such file or directory, open '/etc/server.json'"},
		{npmMissing, "npm error 404  'no-such-server@*' is not in this registry."},
		{strings.ReplaceAll(npmMissing, "npm error", "npm ERR!"),
			"npm ERR! 404  'no-such-server@*' is not in this registry."},
		{npmOffline, "npm error network request to https://registry.example/x failed, reason: getaddrinfo ENOTFOUND registry.example"},
		{pythonCrash, "ValueError: missing API key"},
		{"stdwire: serve: --root: x: no such file or directory\nhint: see stdwire serve --help\n",
			"stdwire: serve: --root: x: no such file or directory"},
		{"error: unexpected argument '--x' found\n\nUsage: server [OPTIONS]\n\nFor more information, try '--help'.\n",
			"error: unexpected argument '--x' found"},
		{"docker: no such image\n\nRun 'docker run --help' for more information\n",
			"docker: no such image"},
		{"flag provided but not defined: -x\nTry `server --help` for more.\n",
			"flag provided but not defined: -x"},
		{"thread 'main' panicked at src/main.rs:2:5:\nboom\nnote: run with `RUST_BACKTRACE=1` environment variable to display a backtrace\n",
			"boom"},
		{"npm ERR! code E401\nnpm ERR! Unable to authenticate\n\nnpm ERR! A complete log of this run can be found in:\nnpm ERR!     /home/ada/.npm/_logs/1-debug-0.log\n",
			"npm ERR! Unable to authenticate"},
		{goCrash, "panic: missing API key"},
		{"Error: API_KEY is not set\nPlease set it in the environment of the server.\nSee https://example.com/setup\n",
			"Error: API_KEY is not set"},
		{"ValueError: bad port\nshutting down\n", "ValueError: bad port"},
		{"2026-11-24 [FATAL] no database\nbye\n", "2026-11-24 [FATAL] no database"},
		{"time=1 level=ERROR msg=\"no key\"\ntime=2 level=INFO msg=stopped\n",
			"time=1 level=ERROR msg=\"no key\""},
		{`{"level":"fatal","msg":"no key"}` + "\n{}\nstopped\n", `{"level":"fatal","msg":"no key"}`},
		{"installing the error handler\nno key\n", "no key"},
		{"Error: first\nError: second\nstopped\n", "Error: second"},
		{"Error: retried\n" + strings.Repeat("working\n", nearLines-1) + "no key\n", "no key"},
		{"hint: only this\n", "hint: only this"},
		{"Hinting failed\n", "Hinting failed"},
		{"server: usage is over the quota\n", "server: usage is over the quota"},
		{"note: a\nhint: b\n", "hint: b"},
		{strings.Repeat("é", maxLine), strings.Repeat("é", maxLine)},
		{strings.Repeat("é", maxLine+1), strings.Repeat("é", maxLine-1) + "…"},
	} {
		assert.Equal(t, lastLine(c.text), c.want)
	}
}

func TestHints(t *testing.T) {
	for _, c := range []struct{ text, want string }{
		{npmMissing, "npm does not find the package"},
		{npmOffline, "a host name could not be resolved"},
		{"getaddrinfo EAI_AGAIN registry.example", "a host name could not be resolved"},
		{uvMissing, "uv does not find the package"},
		{nodeCrash, ""},
		{"commit DE404F, not E4041", ""},
		{"", ""},
	} {
		got := hint(c.text)
		assert.Assert(t, strings.HasPrefix(got, c.want) && (c.want != "" || got == ""), "%q", got)
	}
}

func TestTail(t *testing.T) {
	for _, c := range []struct {
		writes []string
		want   string
	}{
		{nil, ""},
		{[]string{"abc"}, "abc"},
		{[]string{"abcd", "efgh"}, "abcdefgh"},
		{[]string{"abcd", "efghi"}, "…bcdefghi"},
		{[]string{"0123456789abcdef"}, "…89abcdef"},
		{[]string{"abcdefg", "h", "i", "jklmnopq", "r"}, "…klmnopqr"},
		{[]string{"one\n", "two\nthree\n"}, "…three\n"}, // a partial line is not shown
		{[]string{"12345678", "12345\n"}, "…7812345\n"}, // unless it is all there is
		{[]string{"aaaaaaa世", "界aaa"}, "…\uFFFD界aaa"},
	} {
		tail := &tail{limit: 8}
		for _, w := range c.writes {
			tail.write([]byte(w))
			assert.Assert(t, len(tail.ring) <= 8)
		}
		assert.Equal(t, tail.text(), c.want, "%q", c.writes)
	}
}

// A tee that blocks is dropped after a second and never called again.
func TestTeeBlocked(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		release := make(chan struct{})
		var got []byte
		tee := &tee{writeFunc(func(b []byte) (int, error) {
			<-release
			got = b
			return len(b), nil
		})}
		s := &stderr{tail: &tail{limit: 100}, tee: tee}
		b := []byte("first ")
		s.write(b)
		copy(b, "reused")
		s.write([]byte("second"))
		assert.Assert(t, s.tee == nil)
		assert.Equal(t, s.tail.text(), "first second")
		close(release)
		synctest.Wait()
		assert.Equal(t, string(got), "first ")
	})
}

// What the child has written at once is written at once to the tee, as far as it is there: lines of
// other children may follow.
func TestTeeWholeLine(t *testing.T) {
	r, w, err := os.Pipe()
	assert.NilError(t, err)
	line := strings.Repeat("x", 2999) + "\n"
	_, err = w.WriteString(line)
	assert.NilError(t, err)
	w.Close()
	var got []string
	newStderr(r, Config{StderrTee: writeFunc(func(b []byte) (int, error) {
		got = append(got, string(b))
		return len(b), nil
	})}).run()
	assert.DeepEqual(t, got, []string{line})
}

// A Write that fails, or does not return, is the last.
func TestTeeFails(t *testing.T) {
	for name, write := range map[string]writeFunc{
		"error":  func([]byte) (int, error) { return 0, os.ErrClosed },
		"panic":  func([]byte) (int, error) { panic("boom") },
		"goexit": func([]byte) (int, error) { runtime.Goexit(); return 0, nil },
	} {
		assert.Check(t, !(&tee{write}).write([]byte("x")), name)
	}
}

// Files without deadlines are closed instead.
func TestInterruptWithoutDeadlines(t *testing.T) {
	file := func() *os.File {
		f, err := os.Create(filepath.Join(t.TempDir(), "f"))
		assert.NilError(t, err)
		return f
	}
	synctest.Test(t, func(t *testing.T) {
		slow, quick := file(), file()
		interrupt(slow)
		interrupt(quick)()
		time.Sleep(2 * drainTime)
		synctest.Wait()
		assert.ErrorIs(t, slow.Close(), os.ErrClosed)
		assert.NilError(t, quick.Close())
	})
}

type writeFunc func([]byte) (int, error)

func (f writeFunc) Write(b []byte) (int, error) { return f(b) }
