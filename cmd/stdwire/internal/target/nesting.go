package target

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/stdwire/stdwire/client/host/config"
	"github.com/stdwire/stdwire/cmd/stdwire/internal/command"
)

// Above is the environment variable in which a gateway tells its servers what it and the gateways
// above it offer, so that none of them starts itself again. It has digests, separated by commas.
const Above = "STDWIRE_GATEWAYS"

// maxNested is the maximum number of gateways that are started by one another.
const maxNested = 8

// Nest returns the value of [Above] for the servers of a gateway that offers those of c, or of a
// profile of c. It returns an error if a gateway that has started this process offers the same.
func Nest(c *config.Config, profile string) (value string, err error) {
	var offered strings.Builder
	for _, f := range c.Files {
		if f.State == config.StateUsed {
			fmt.Fprintf(&offered, "%q ", f.Path)
		}
	}
	sum := sha256.Sum256(fmt.Appendf(nil, "%s%q", offered.String(), profile))
	own, above := hex.EncodeToString(sum[:8]), strings.FieldsFunc(os.Getenv(Above),
		func(r rune) bool { return r == ',' })
	if slices.Contains(above, own) || len(above) >= maxNested {
		return "", &command.Failure{Code: "config",
			Why: "a gateway of these servers has started this one, which would start itself again",
			Hint: "remove the server of the configuration that is stdwire serve with --servers, --config or --profile: " +
				"stdwire list shows it"}
	}
	return strings.Join(append(above, own), ","), nil
}

// isGateway reports whether a configured server is this program as a gateway.
func isGateway(s *config.Server) bool {
	if len(s.Args) == 0 || s.Args[0] != "serve" || !isStdwire(s.Command) {
		return false
	}
	return slices.ContainsFunc(s.Args[1:], func(arg string) bool {
		flag, _, _ := strings.Cut(arg, "=")
		return slices.Contains([]string{ServersFlag, "--config", "--profile"}, flag)
	})
}

// isStdwire reports whether a command is this program, by its path or its name.
func isStdwire(command string) bool {
	self, err := os.Executable()
	name := filepath.Base(command)
	return err == nil && command == self || name == "stdwire" ||
		strings.EqualFold(name, "stdwire.exe")
}
