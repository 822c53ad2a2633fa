package serve

import (
	"strings"
	"testing"

	"gotest.tools/v3/assert"

	"github.com/stdwire/stdwire/cmd/stdwire/internal/termtest"
)

// The level selects log records; lines that the program prints are always written.
func TestLogLevel(t *testing.T) {
	for _, tt := range []struct {
		flags logFlags
		want  string
	}{
		{logFlags{}, "info warn printed"},
		{logFlags{level: "debug"}, "debug info warn printed"},
		{logFlags{level: "error", format: "text"}, "printed"},
		{logFlags{format: "json", level: "warn"}, "warn printed"},
		{logFlags{format: "json", level: "debug"}, "debug info warn printed"},
	} {
		c := termtest.Capture(false)
		std := c.Streams
		log, _ := tt.flags.open(std)
		log.Debug("debug")
		log.Info("info")
		log.Warn("warn")
		std.Err.Printf("stdwire: printed")
		var got []string
		for line := range strings.Lines(c.Stderr.String()) {
			assert.Equal(t, strings.HasPrefix(line, "{"), tt.flags.format == "json", line)
			for _, word := range []string{"debug", "info", "warn", "printed"} {
				if strings.Contains(line, "msg="+word) || strings.Contains(line, `"msg":"`+word+`"`) ||
					line == "stdwire: "+word+"\n" {
					got = append(got, word)
				}
			}
		}
		assert.Equal(t, strings.Join(got, " "), tt.want)
	}
}

// A line has the level that its text shows, and one without an end is logged when it is long.
func TestLinesAsRecords(t *testing.T) {
	c := termtest.Capture(false)
	std := c.Streams
	_, failed := (&logFlags{format: "json"}).open(std)
	has := func(level, text string) {
		t.Helper()
		got := c.Stderr.String()
		assert.Assert(t, strings.HasSuffix(got, `,"level":"`+level+`","msg":"`+text+"\"}\n"), got)
		c.Stderr.Reset()
	}
	std.Err.Printf("warning: one")
	has("WARN", "one")
	_, _ = std.Err.Write([]byte("two\r\nth"))
	has("INFO", "two")
	_, _ = std.Err.Write([]byte("ree\n"))
	has("INFO", "three")
	long := strings.Repeat("x", maxLogLine)
	_, _ = std.Err.Write([]byte(long))
	has("INFO", long)
	failed(nil)
	std.Err.Printf("four")
	has("INFO", "four")
	failed(strings.NewReader("").UnreadByte())
	std.Err.Printf("stdwire: five")
	has("ERROR", "five")
}
