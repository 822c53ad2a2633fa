package topic

import (
	"fmt"
	"strings"

	"github.com/stdwire/stdwire/client/host/config"
	"github.com/stdwire/stdwire/internal/printable"
)

// expandFields replaces each line "{{fields OBJECT}}" of a page by the reference of the members of
// an object of configuration files.
func expandFields(page string) string {
	if !strings.Contains(page, "{{fields ") {
		return page
	}
	byObject := map[string]string{}
	for _, f := range config.Fields() {
		byObject[f.Object] += reference(f) + "\n"
	}
	var b strings.Builder
	for line := range strings.Lines(page) {
		object, ok := strings.CutPrefix(line, "{{fields ")
		if !ok {
			b.WriteString(line)
			continue
		}
		object = strings.TrimSuffix(strings.TrimSpace(object), "}}")
		b.WriteString(strings.TrimSuffix(byObject[object], "\n"))
	}
	return b.String()
}

// reference returns the paragraph of a member.
func reference(f config.Field) string {
	head := fmt.Sprintf("%s: %s", f.Names[0], f.Type)
	help := f.Help
	if len(f.Names) > 1 {
		help += " Also: " + strings.Join(f.Names[1:], ", ") + "."
	}
	return printable.NoTerminal.Wrap(head, 2, 6) + "\n" + printable.NoTerminal.Wrap(help, 6, 6) + "\n"
}
