package atomicfile

import (
	"regexp"
	"strings"
)

// device matches the names that Windows reserves for devices in every directory.
var device = regexp.MustCompile(`(?i)^(con|prn|aux|nul|(com|lpt)[0-9])(\.|$)`)

// Name returns a file name for a name of letters, digits and ._-+ that is safe on every system. It
// inserts an underscore where Windows would open another file: CON, a device, becomes CON_, and so
// NUL.txt becomes NUL_.txt; "f.", which is "f" there, becomes "f._". The result does not depend on
// the system.
func Name(name string) string {
	if i := device.FindStringSubmatchIndex(name); i != nil {
		name = name[:i[3]] + "_" + name[i[3]:]
	}
	if strings.HasSuffix(name, ".") {
		name += "_"
	}
	return name
}
