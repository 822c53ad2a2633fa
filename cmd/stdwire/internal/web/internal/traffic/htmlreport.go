package traffic

import (
	"bufio"
	"bytes"
	"encoding/json"
	"fmt"
	"html"
	"io"

	"github.com/stdwire/stdwire/cmd/stdwire/internal/command"
	"github.com/stdwire/stdwire/cmd/stdwire/internal/tap"
)

// reportHead is the beginning of a report. It needs no script and fetches nothing.
const reportHead = `<!DOCTYPE html>
<html lang="en"><head><meta charset="utf-8"><meta name="viewport" content="width=device-width">
<meta http-equiv="Content-Security-Policy" content="default-src 'none'; style-src 'unsafe-inline'">
<title>%s</title><style>
:root{color-scheme:light dark;font:14px/1.4 system-ui,sans-serif}
body{margin:1rem}h1{font-size:1.2rem}summary{display:flex;gap:.6rem;white-space:nowrap}
summary>*{overflow:hidden;text-overflow:ellipsis}.t{flex:0 0 6.5rem;text-align:right}
.f{flex:0 0 1.5rem}.m{flex:0 1 24rem}.a{flex:1 1 8rem;opacity:.8}.z{flex:0 0 5rem;text-align:right}
.b{flex:0 0 12rem;position:relative}.b i{position:absolute;inset-block:.3rem;background:#4a80c8;
min-width:2px}.bad{color:light-dark(#b00020,#ff8a80)}.bad .b i{background:#d03040}
pre{white-space:pre-wrap;overflow-wrap:anywhere;border-left:3px solid;padding-left:1rem}
</style></head><body><h1>%s</h1><p>%d messages, recorded by stdwire %s. Each line opens.</p>
`

// WriteReport writes the messages of a connection as one self-contained HTML page.
func (t *Traffic) WriteReport(to io.Writer, c *Connection) error {
	all := t.messagesOf(c)
	w := bufio.NewWriter(to)
	title := html.EscapeString(fmt.Sprintf("%s, %s", c.lane, c.opened.Format("2006-01-02 15:04:05")))
	fmt.Fprintf(w, reportHead, title, title, len(all), html.EscapeString(command.Version()))
	begin, length := 0.0, 1.0
	if n := len(all); n > 0 {
		begin, length = all[0].At, max(all[n-1].At-all[0].At, 1)
	}
	for _, m := range all {
		class, arrow := "", "→"
		if m.Failed != "" {
			class = ` class="bad"`
		}
		if m.From == tap.FromServer {
			arrow = "←"
		}
		note := m.Subject
		if m.Kind == tap.Response {
			note = fmt.Sprintf("%s after %.3f ms %s", m.Kind, m.Ms, m.Failed)
		}
		left := (m.At - m.Ms - begin) / length
		fmt.Fprintf(w, `<details%s><summary><span class="t">%.3f s</span><span class="f">%s</span>`+
			`<span class="m">%s</span><span class="a">%s</span><span class="z">%d B</span>`+
			`<span class="b"><i style="left:%.2f%%;width:%.2f%%"></i></span></summary><pre>`, class,
			(m.At-begin)/1e3, arrow, html.EscapeString(m.Method), html.EscapeString(note), m.Size,
			100*max(left, 0), 100*min(m.Ms/length, 1))
		text := m.Record.Payload()
		var indented bytes.Buffer
		if json.Indent(&indented, text, "", "  ") == nil {
			text = indented.Bytes()
		}
		_, _ = w.WriteString(html.EscapeString(string(text)) + "</pre></details>\n")
	}
	_, _ = w.WriteString("</body></html>\n")
	return w.Flush() // the error of any write
}
