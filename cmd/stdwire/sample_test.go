package main

import (
	"fmt"
	"io"
	"os"
	"strings"
	"syscall"
	"testing"

	"gotest.tools/v3/assert"
	"gotest.tools/v3/assert/cmp"

	"github.com/stdwire/stdwire/cmd/stdwire/internal/commandtest"
	"github.com/stdwire/stdwire/cmd/stdwire/internal/termtest"
	"github.com/stdwire/stdwire/internal/jsonscan"
	"github.com/stdwire/stdwire/internal/shellwords"
)

// answerSample is a command of --sample. It answers with the number of tokens of the request, or as
// its argument says.
func answerSample(args []string) {
	request, _ := io.ReadAll(os.Stdin)
	switch args[0] {
	case "fail":
		fmt.Fprintln(os.Stderr, "first\nno key")
		syscall.Exit(3)
	case "long":
		fmt.Print(strings.Repeat("x", 5<<20))
	case "answer":
		fmt.Printf(`{"model":"m","role":"assistant","content":{"type":"text","text":"%s %s"}}`,
			jsonscan.Member(request, "maxTokens"), os.Getenv("MODEL_KEY"))
	default:
		fmt.Print(args[0])
	}
}

// sampling is the value of --sample for a fixture.
func sampling(t *testing.T, args ...string) string {
	t.Helper()
	path, err := os.Executable()
	assert.NilError(t, err)
	words := []string{shellwords.Quote(path), "fixture:model"}
	for _, arg := range args {
		words = append(words, shellwords.Quote(arg))
	}
	return strings.Join(words, " ")
}

// A command answers the requests of a server to a model, in both eras, and in the shell. What it
// cannot answer fails the call.
func TestSampleCommand(t *testing.T) {
	if commandtest.InOwnProcess(t) {
		return
	}
	t.Setenv("MODEL_KEY", "key")
	for _, era := range []string{"modern", "legacy"} {
		call := func(answer string) ran {
			return run(t, words("call write --era "+era+" --sample", append([]string{
				sampling(t, answer)}, fixture("forms")...)...)...)
		}
		assert.Equal(t, call("answer"), ran{0, "m wrote: 10 key\n", ""}, era)
		got := call(`{"content":{"type":"text","text":"short"}}`)
		assert.Equal(t, got, ran{0, self + " wrote: short\n", ""}, era)
		c := termtest.Capture(false)
		c.In = strings.NewReader("write\nwrite\n")
		got = runWith(t.Context(), c, words("shell --era "+era+" --sample", append([]string{
			sampling(t, "answer")}, fixture("forms")...)...)...)
		assert.Equal(t, got, ran{0, "m wrote: 10 key\nm wrote: 10 key\n", ""}, era)
		for answer, want := range map[string]string{
			"fail":          `exited with status 3: "no key"`,
			"long":          "its answer has more than 4194304 bytes",
			"{}":            "its answer has no content",
			"no":            "its answer is not JSON: ",
			`{"content":7}`: "its answer is not a result: ",
		} {
			got := call(answer)
			// A legacy server gets an error for its question, and its tool does not expect that.
			code := map[string]int{"legacy": 1, "modern": 5}[era]
			assert.Equal(t, got.code, code, "%s: %s", era, got.stderr)
			assert.Equal(t, got.stdout, "")
			assert.Assert(t, cmp.Contains(strings.ReplaceAll(got.stderr, `\"`, `"`), want), era)
		}
	}
	for _, value := range []string{"", "'x"} {
		assert.Equal(t, run(t, "call", "write", "--sample", value).code, 2, value)
	}
	got := run(t, words("connect --sample x", fixture("forms")...)...)
	assert.Equal(t, got.code, 2)
	assert.Assert(t, cmp.Contains(got.stderr, "--sample is for the commands that call"))

	// Nobody is there, and the server is told so.
	got = against(t, "call write", "forms")
	assert.Equal(t, got.code, 5)
	assert.Assert(t, cmp.Contains(got.stderr, "--sample"))
}
