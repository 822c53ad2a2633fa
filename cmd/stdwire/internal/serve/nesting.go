package serve

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"os"
	"slices"
	"strings"

	"github.com/stdwire/stdwire/client/host/config"
	"github.com/stdwire/stdwire/cmd/stdwire/internal/command"
)

// aboveVariable is the environment variable in which a gateway tells its servers what it and the
// gateways above it offer, so that none of them starts itself again. It has digests, separated by
// commas.
const aboveVariable = "STDWIRE_GATEWAYS"

// maxNested is the maximum number of gateways that are started by one another.
const maxNested = 8

// nest returns the value of [aboveVariable] for the servers of a gateway that offers those of c, or
// of a profile of c. It returns an error if a gateway that has started this process offers the
// same.
func nest(c *config.Config, profile string) (value string, err error) {
	var offered strings.Builder
	for _, f := range c.Files {
		if f.State == config.StateUsed {
			fmt.Fprintf(&offered, "%q ", f.Path)
		}
	}
	sum := sha256.Sum256(fmt.Appendf(nil, "%s%q", offered.String(), profile))
	own, above := hex.EncodeToString(sum[:8]), strings.FieldsFunc(os.Getenv(aboveVariable),
		func(r rune) bool { return r == ',' })
	if slices.Contains(above, own) || len(above) >= maxNested {
		return "", &command.Failure{Code: "config",
			Why: "a gateway of these servers has started this one, which would start itself again",
			Hint: "remove the server of the configuration that is stdwire serve with --servers, --config or --profile: " +
				"stdwire list shows it"}
	}
	return strings.Join(append(above, own), ","), nil
}
