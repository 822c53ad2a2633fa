package redis

import (
	"crypto/tls"
	"errors"
	"fmt"
	"maps"
	"net"
	"net/url"
	"slices"
	"strconv"
	"strings"

	"github.com/stdwire/stdwire/internal/near"
)

// Options say which server a client talks to, and how.
type Options struct {
	Network string // "tcp" or "unix"; of Sentinels always "tcp"
	Address string // host:port, or a path

	// Sentinels are the addresses of Sentinels, which know the address of the master with this
	// name. Address is then ignored.
	Sentinels  []string
	MasterName string

	Username, Password                 string // of the server; the default user has no name
	SentinelUsername, SentinelPassword string // of the Sentinels
	Database                           int
	TLS                                *tls.Config // nil: none. Sentinels have the same

	// Changed, if not nil, is called with nil whenever the server has been reached and commands
	// are accepted, and with the reason whenever an attempt to has failed. Calls do not overlap;
	// they hold up the connection, and may not close the client.
	Changed func(error)

	Bounds
}

// parameters are those of the query of a URL, in the form of other clients.
var parameters = map[string]func(o *Options, values []string) error{
	"db": func(o *Options, values []string) error { return o.setDatabase(values[0]) },
	"master_name": func(o *Options, values []string) error {
		o.MasterName = values[0]
		return nil
	},
	"addr": func(o *Options, values []string) error {
		for _, v := range values {
			o.Sentinels = append(o.Sentinels, withPort(v, "26379"))
		}
		return nil
	},
	"sentinel_username": func(o *Options, values []string) error {
		o.SentinelUsername = values[0]
		return nil
	},
	"sentinel_password": func(o *Options, values []string) error {
		o.SentinelPassword = values[0]
		return nil
	},
}

// ParseURL returns the options of a URL in one of these forms:
//
//	redis://[[user]:password@]host[:port][/database]
//	rediss://…                                        the same with TLS
//	unix://[[user]:password@]/path[?db=database]
//	redis://…@sentinel[:port][/database]?master_name=name[&addr=sentinel:port…]
//
// The last form takes sentinel_username and sentinel_password too. No error has any part of the
// URL that may be secret.
func ParseURL(text string) (Options, error) {
	var o Options
	u, err := url.Parse(text)
	if err != nil { // its text has parts of the URL
		return o, errors.New("redis: the URL cannot be parsed: want redis://user:password@host:port/" +
			"database, with %XX for special characters of the password")
	}
	o.Username = u.User.Username()
	o.Password, _ = u.User.Password()
	switch u.Scheme {
	case "redis", "rediss":
		if u.Hostname() == "" {
			return o, errors.New("redis: the URL has no host")
		}
		o.Network, o.Address = "tcp", withPort(u.Host, "6379")
		if u.Scheme == "rediss" {
			o.TLS = &tls.Config{MinVersion: tls.VersionTLS12}
		}
		if path := strings.Trim(u.Path, "/"); path != "" {
			if err := o.setDatabase(path); err != nil {
				return o, err
			}
		}
	case "unix":
		if o.Network, o.Address = "unix", u.Path; u.Path == "" || u.Host != "" {
			return o, errors.New("redis: the URL has no absolute path: want unix:///path/of/socket")
		}
	default:
		return o, errors.New("redis: the URL begins with none of redis://, rediss:// and unix://")
	}
	query, err := url.ParseQuery(u.RawQuery)
	if err != nil {
		return o, errors.New("redis: the query of the URL cannot be parsed")
	}
	for name, values := range query {
		set, ok := parameters[name]
		if !ok {
			return o, fmt.Errorf("redis: the URL has an unknown parameter: %s",
				near.Instead(name, slices.Sorted(maps.Keys(parameters))))
		}
		if err := set(&o, values); err != nil {
			return o, err
		}
	}
	switch {
	case o.MasterName != "" && o.Network == "tcp":
		o.Sentinels = append([]string{withPort(u.Host, "26379")}, o.Sentinels...)
		o.Address = ""
	case o.MasterName != "" || o.Sentinels != nil || o.SentinelUsername != "" ||
		o.SentinelPassword != "":
		return o, errors.New("redis: the URL has parameters of Sentinel, which need a host and " +
			"master_name")
	}
	return o, nil
}

// URL returns the URL of the server without users and passwords.
func (o *Options) URL() string {
	u := url.URL{Scheme: "redis", Host: o.Address}
	query := url.Values{}
	switch {
	case o.Network == "unix":
		u = url.URL{Scheme: "unix", Path: o.Address}
	case len(o.Sentinels) > 0:
		u.Host = o.Sentinels[0]
		query["addr"] = o.Sentinels[1:]
		query.Set("master_name", o.MasterName)
	}
	if o.TLS != nil {
		u.Scheme = "rediss"
	}
	switch {
	case o.Database == 0:
	case o.Network == "unix":
		query.Set("db", strconv.Itoa(o.Database))
	default:
		u.Path = "/" + strconv.Itoa(o.Database)
	}
	u.RawQuery = query.Encode()
	return u.String()
}

func (o *Options) setDatabase(text string) error {
	n, err := strconv.ParseUint(text, 10, 31)
	if err != nil {
		return errors.New("redis: the database in the URL is not a number")
	}
	o.Database = int(n)
	return nil
}

// withPort adds a port to a host without one.
func withPort(host, port string) string {
	if _, _, err := net.SplitHostPort(host); err == nil && !strings.HasSuffix(host, ":") {
		return host
	}
	return net.JoinHostPort(strings.Trim(strings.TrimSuffix(host, ":"), "[]"), port)
}
