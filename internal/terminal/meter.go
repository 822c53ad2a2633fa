package terminal

import (
	"fmt"
	"strings"
	"time"

	"github.com/stdwire/stdwire/internal/printable"
)

// A Meter formats progress as a status: with a bar and the time left if the total is known, and
// with the rate. The zero value has seen no progress. It is not safe for concurrent use.
type Meter struct {
	began time.Time // of the first progress
	first float64
}

// Text returns the status of a progress, as in
//
//	[#####-----] 50% 2.5/s 0:04 left message
//
// total is 0 or less if it is unknown. columns is the width of the terminal.
func (m *Meter) Text(done, total float64, message string, now time.Time, columns int) string {
	if m.began.IsZero() {
		m.began, m.first = now, done
	}
	var parts []string
	if total > 0 {
		share := min(max(done/total, 0), 1)
		width := min(columns/4, 40)
		full := int(share * float64(width))
		parts = append(parts, "["+strings.Repeat("#", full)+strings.Repeat("-", width-full)+"]",
			fmt.Sprintf("%.0f%%", 100*done/total))
	} else {
		parts = append(parts, fmt.Sprintf("%g", done))
	}
	const early = time.Second // before it, a rate means little
	elapsed := now.Sub(m.began)
	if rate := (done - m.first) / elapsed.Seconds(); elapsed >= early && rate > 0 {
		parts = append(parts, fmt.Sprintf("%.3g/s", rate))
		const longest = 100 * 3600
		if left := (total - done) / rate; total > done && left < longest {
			parts = append(parts, clock(int(left+0.5))+" left")
		}
	}
	return printable.Line(strings.Join(append(parts, message), " "))
}

// clock formats seconds as 0:04, or 1:02:03 from an hour on.
func clock(seconds int) string {
	text := fmt.Sprintf("%d:%02d", seconds/60, seconds%60)
	if seconds >= 3600 {
		text = fmt.Sprintf("%d:%02d:%02d", seconds/3600, seconds/60%60, seconds%60)
	}
	return text
}
