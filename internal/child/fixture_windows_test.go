package child

import "time"

const (
	programName = "tool.exe"
	pipeHolds   = 2 << 10
)

var systemFixtures map[string]func()

// systemRungs lacks the request to end, which needs a console.
func systemRungs(short time.Duration) []rung {
	deaf := fixture("stubborn")
	return []rung{
		{"killed", deaf, short, 1, "ended by signal: killed"},
		{"killed without grace", deaf, -1, 0, "ended by signal: killed"},
	}
}
