package doctor

import (
	"testing"

	"gotest.tools/v3/assert"

	"github.com/stdwire/stdwire/cmd/stdwire/internal/termtest"
)

func TestReportsOnATerminal(t *testing.T) {
	reports := func() []*Report {
		tools := 3
		fine := &Report{ID: "fine", Verdict: Fine, Revision: "2025-11-25", Era: "legacy",
			By: "initialize", ReadyMs: 12, Tools: &tools, StopMs: 3}
		gone := &Report{ID: "gone", Verdict: Fine}
		gone.add(Broken, "the program was not \x1b[1mfound", "install it")
		gone.add(note, "it is configured twice, in two files of the same directory", "")
		return []*Report{fine, gone}
	}
	for _, c := range []struct {
		streams termtest.Captured
		want    string
	}{
		{termtest.Capture(false), `fine  ok      2025-11-25, legacy era, by initialize; ready after 12 ms; 3 tools;
              stopped after 3 ms
gone  broken
  broken    the program was not found
            → install it
  note      it is configured twice, in two files of the same directory

2 servers: 1 ok, 0 with warnings, 1 broken
`},
		{termtest.CaptureTerminal(50), "fine  \x1b[32mok\x1b[0m" +
			`      2025-11-25, legacy era, by
              initialize; ready after 12 ms; 3
              tools; stopped after 3 ms
` + "gone  \x1b[31mbroken\x1b[0m\n  \x1b[31mbroken\x1b[0m" + `    the program was not found
            → install it
` + "  \x1b[36mnote\x1b[0m" + `      it is configured twice, in two files
            of the same directory

2 servers: 1 ok, 0 with warnings, 1 broken
`},
	} {
		assert.NilError(t, printReports(c.streams.Streams, "text", reports()))
		assert.NilError(t, c.streams.Out.Flush())
		assert.Equal(t, c.streams.Stdout.String(), c.want)
	}
}
