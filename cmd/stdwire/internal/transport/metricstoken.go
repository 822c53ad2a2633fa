package transport

import (
	"net/http"

	"github.com/stdwire/stdwire/cmd/stdwire/internal/command"
	"github.com/stdwire/stdwire/cmd/stdwire/internal/tokenfile"
	"github.com/stdwire/stdwire/rpc/mcp/telemetry"
)

// A metricsToken is the bearer token for /metrics at the address of --http. If it is "", metrics
// are not served there.
type metricsToken string

const metricsTokenFlag = "--metrics-token-env"

func (m *metricsToken) flag() command.Flag {
	return command.Flag{Name: metricsTokenFlag, Value: "NAME",
		Help: "also serve metrics for Prometheus at /metrics of --http; clients must send the bearer token in this environment variable, 16 bytes or more",
		Set: func(value string) error {
			token, err := tokenOf(metricsTokenFlag, value)
			*m = metricsToken(token)
			return err
		}}
}

// given returns the name of the flag if it is given, or "".
func (m metricsToken) given() string {
	if m == "" {
		return ""
	}
	return metricsTokenFlag
}

// guard passes requests that have the token to metrics. It refuses and counts others.
func (m metricsToken) guard(metrics http.Handler, failures *telemetry.Counter) http.Handler {
	want := tokenfile.Single(string(m))
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if want.Find(bearerToken(r)) == nil {
			failures.Add(1)
			w.Header().Set("WWW-Authenticate", `Bearer realm="metrics"`)
			http.Error(w, errToken.Error(), http.StatusUnauthorized)
			return
		}
		w.Header().Set("Cache-Control", "no-store")
		metrics.ServeHTTP(w, r)
	})
}
