package otlp

import (
	"cmp"
	"crypto/x509"
	"fmt"
	"log/slog"
	"maps"
	"math"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/stdwire/stdwire/internal/printable"
	"github.com/stdwire/stdwire/internal/userfile"
	"github.com/stdwire/stdwire/rpc/mcp/telemetry"
)

// A Config says what is exported, and where to.
type Config struct {
	Disabled        bool // by OTEL_SDK_DISABLED: nothing is to be recorded
	Traces, Metrics Signal

	Resource []slog.Attr // attributes of the process: service.name, then the others by name
	Sampler  telemetry.Sampler
	Interval time.Duration // between two exports of metrics
	Batch    Batch
}

// A Signal says where the payloads of traces, or of metrics, are sent.
type Signal struct {
	URL     string        // "" means they are not exported
	Headers http.Header   // may be secret
	Timeout time.Duration // of one request

	// Roots are the certificates to trust in place of the system's; nil means those of the system.
	Roots *x509.CertPool
}

// A Batch says how spans are collected before they are sent, and how long sending them may take.
type Batch struct {
	Queue, Size int           // in spans
	Delay       time.Duration // until an incomplete batch is sent
	Timeout     time.Duration // of an export with its retries
}

// Enabled reports whether anything is exported.
func (c *Config) Enabled() bool { return c.Traces.URL != "" || c.Metrics.URL != "" }

// The default endpoint of the specification, for a process that names the exporter and no endpoint.
const defaultEndpoint = "http://localhost:4318"

// Configure reads the OTEL_ variables with getenv. A URL in endpoint replaces the endpoints and the
// protocols in the variables. Without an endpoint, nothing is exported. A variable that has no
// meaning, or one that is not supported here, is ignored, as the specification of OpenTelemetry
// says for SDK configuration, and warnings tells about it. The error is about endpoint, or a
// certificate for it. No text contains the value of a header.
func Configure(getenv func(string) string, endpoint string) (c *Config, warnings []string,
	err error) {
	e := &environment{getenv: getenv}
	c = new(Config)
	if c.Disabled = strings.EqualFold(getenv("OTEL_SDK_DISABLED"), "true"); c.Disabled {
		return c, nil, nil
	}
	c.Resource = e.resource()
	for _, signal := range []struct {
		to             *Signal
		name, exporter string
	}{
		{&c.Traces, "TRACES", getenv("OTEL_TRACES_EXPORTER")},
		{&c.Metrics, "METRICS", getenv("OTEL_METRICS_EXPORTER")},
	} {
		err := e.signal(signal.to, signal.name, signal.exporter, endpoint)
		if err != nil && endpoint != "" {
			return nil, nil, err
		}
		if err != nil {
			e.warn("%v: nothing is exported to it", err)
		}
	}
	if !c.Enabled() {
		return c, e.warnings, nil
	}
	c.Sampler = e.sampler()
	c.Interval = e.milliseconds("OTEL_METRIC_EXPORT_INTERVAL", 60000)
	c.Batch = Batch{Queue: e.number("OTEL_BSP_MAX_QUEUE_SIZE", 2048),
		Size:    e.number("OTEL_BSP_MAX_EXPORT_BATCH_SIZE", 512),
		Delay:   e.milliseconds("OTEL_BSP_SCHEDULE_DELAY", 5000),
		Timeout: e.milliseconds("OTEL_BSP_EXPORT_TIMEOUT", 30000)}
	c.Batch.Size = min(c.Batch.Size, c.Batch.Queue)
	return c, e.warnings, nil
}

// An environment reads variables, and collects what is wrong with them.
type environment struct {
	getenv   func(string) string
	warnings []string
}

// warn adds a warning once: both signals read the same variables.
func (e *environment) warn(format string, args ...any) {
	if w := fmt.Sprintf(format, args...); !slices.Contains(e.warnings, w) {
		e.warnings = append(e.warnings, w)
	}
}

// first returns the first variable that has a value, and the value.
func (e *environment) first(names ...string) (name, value string) {
	for _, name := range names {
		if value := strings.TrimSpace(e.getenv(name)); value != "" {
			return name, value
		}
	}
	return "", ""
}

// signal reads the variables of a signal. Those that name it have precedence.
func (e *environment) signal(s *Signal, name, exporter, endpoint string) error {
	switch exporter = strings.ToLower(strings.TrimSpace(exporter)); exporter {
	case "none":
		return nil
	case "", "otlp":
	default:
		e.warn("OTEL_%s_EXPORTER: %s is not supported: write otlp or none", name,
			printable.Line(exporter))
		return nil
	}
	path := "/v1/" + strings.ToLower(name)
	own := "OTEL_EXPORTER_OTLP_" + name + "_"
	from, to := "--otlp", endpoint
	if to == "" {
		from, to = e.first(own+"ENDPOINT", "OTEL_EXPORTER_OTLP_ENDPOINT")
		if to == "" && exporter == "otlp" {
			from, to = "OTEL_"+name+"_EXPORTER", defaultEndpoint
		}
	}
	if to == "" {
		return nil
	}
	if endpoint == "" && !e.acceptsJSON(own+"PROTOCOL", "OTEL_EXPORTER_OTLP_PROTOCOL") {
		return nil
	}
	u, err := url.Parse(to)
	if err != nil || u.Scheme != "http" && u.Scheme != "https" || u.Host == "" {
		return fmt.Errorf("%s is not a URL such as %s", from, defaultEndpoint)
	}
	if from != own+"ENDPOINT" {
		u = u.JoinPath(path)
	}
	s.Timeout = e.milliseconds(cmp.Or(nameIfSet(e, own+"TIMEOUT"), "OTEL_EXPORTER_OTLP_TIMEOUT"),
		10000)
	s.Headers = e.headers(cmp.Or(nameIfSet(e, own+"HEADERS"), "OTEL_EXPORTER_OTLP_HEADERS"))
	if name, file := e.first(own+"CERTIFICATE", "OTEL_EXPORTER_OTLP_CERTIFICATE"); file != "" {
		text, err := userfile.Read(file, userfile.MaxPEM)
		if err != nil {
			return fmt.Errorf("%s: %w", name, err)
		}
		s.Roots = x509.NewCertPool()
		if !s.Roots.AppendCertsFromPEM(text) {
			return fmt.Errorf("%s: %s has no certificate in PEM", name, file)
		}
	}
	s.URL = u.String()
	return nil
}

// nameIfSet returns the name of a variable if it has a value, and otherwise "".
func nameIfSet(e *environment, name string) string {
	name, _ = e.first(name)
	return name
}

// acceptsJSON reports whether the endpoint may understand JSON over HTTP. That of http/protobuf
// does: a collector serves both at the same URL. That of gRPC is another port.
func (e *environment) acceptsJSON(names ...string) bool {
	name, protocol := e.first(names...)
	switch protocol {
	case "", "http/json":
	case "grpc":
		e.warn("%s: grpc is not supported, nothing is exported: write http/json, and the port for HTTP, often 4318, in the endpoint",
			name)
		return false
	default:
		e.warn("%s: %s is not supported, http/json is used", name, printable.Line(protocol))
	}
	return true
}

// pairs returns the members of a list such as a=1,b=2 with their values decoded. The warning about
// a member does not repeat it.
func (e *environment) pairs(name string) map[string]string {
	_, list := e.first(name)
	all := make(map[string]string)
	if list == "" {
		return all
	}
	for n, member := range strings.Split(list, ",") {
		key, value, ok := strings.Cut(member, "=")
		key = strings.TrimSpace(key)
		decoded, err := url.PathUnescape(strings.TrimSpace(value))
		if strings.TrimSpace(member) == "" {
			continue // a comma too many
		}
		if !ok || key == "" || err != nil {
			e.warn("%s: member %d is ignored: it is not NAME=VALUE, with %%-escapes in the value",
				name, n+1)
			continue
		}
		all[key] = decoded
	}
	return all
}

// headers reads the names and values of headers.
func (e *environment) headers(name string) http.Header {
	h := make(http.Header)
	for key, value := range e.pairs(name) {
		if strings.ContainsFunc(key+value, isControl) || strings.ContainsAny(key, " \t:") {
			e.warn("%s: a header is ignored that HTTP does not allow", name)
			continue
		}
		h.Set(key, value)
	}
	return h
}

func isControl(r rune) bool { return r < ' ' && r != '\t' || r == 0x7f }

// resource reads the attributes of the process. The name of the service has a variable of its own.
func (e *environment) resource() []slog.Attr {
	attributes := e.pairs("OTEL_RESOURCE_ATTRIBUTES")
	_, service := e.first("OTEL_SERVICE_NAME")
	all := []slog.Attr{slog.String("service.name",
		cmp.Or(service, attributes["service.name"], "stdwire"))}
	delete(attributes, "service.name")
	for _, name := range slices.Sorted(maps.Keys(attributes)) {
		all = append(all, slog.String(name, attributes[name]))
	}
	return all
}

// sampler reads the sampler. By default all traces are recorded that the caller records.
func (e *environment) sampler() telemetry.Sampler {
	_, name := e.first("OTEL_TRACES_SAMPLER")
	_, argument := e.first("OTEL_TRACES_SAMPLER_ARG")
	s, err := telemetry.ParseSampler(strings.ToLower(name), argument)
	if err != nil {
		e.warn("OTEL_TRACES_SAMPLER is ignored: %s", printable.Line(err.Error()))
	}
	return s
}

// number reads a positive number, at most 1,000,000.
func (e *environment) number(name string, fallback int) int {
	const maximum = 1000_000
	_, text := e.first(name)
	if text == "" {
		return fallback
	}
	n, err := strconv.Atoi(text)
	if err != nil || n <= 0 || n > maximum {
		e.warn("%s: %s is not a number from 1 to %d: %d is used", name, printable.Line(text),
			maximum, fallback)
		return fallback
	}
	return n
}

// milliseconds reads a positive duration.
func (e *environment) milliseconds(name string, fallback int) time.Duration {
	_, text := e.first(name)
	if n, err := strconv.Atoi(text); err == nil && n > 0 && n <= math.MaxInt32 {
		return time.Duration(n) * time.Millisecond
	} else if text != "" {
		e.warn("%s: %s is not a number of milliseconds: %d is used", name, printable.Line(text),
			fallback)
	}
	return time.Duration(fallback) * time.Millisecond
}
