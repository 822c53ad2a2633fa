package atomicfile

import (
	"regexp"
	"strings"
)

// device matches the names that Windows takes for devices in every directory.
var device = regexp.MustCompile(`(?i)^(con|prn|aux|nul|(com|lpt)[0-9])(\.|$)`)

// Name returns the name of a file for a name of letters, digits and ._-+: the same, or one with _ in
// it where Windows would have another file. CON_ is for CON, which is a device, and so NUL_.txt for
// NUL.txt; f._ is for f., which is f there. It is the same on every system.
func Name(name string) string {
	if i := device.FindStringSubmatchIndex(name); i != nil {
		name = name[:i[3]] + "_" + name[i[3]:]
	}
	if strings.HasSuffix(name, ".") {
		name += "_"
	}
	return name
}
