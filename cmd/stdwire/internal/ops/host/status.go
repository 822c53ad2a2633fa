package host

import "time"

// A Status is the state of a server.
type Status struct {
	Server   string `json:"server"`
	State    string `json:"state" doc:"stopped, starting, ready, waiting (for another start), failed or disabled."`
	Session  string `json:"session,omitempty" doc:"The session that the process belongs to, if the server is not shared."`
	Error    string `json:"error,omitempty" doc:"Why it last failed."`
	RetryIn  int    `json:"retry_in_seconds,omitempty" doc:"When it is started again."`
	Since    string `json:"since,omitempty" doc:"When this state began."`
	Heard    string `json:"heard,omitempty" doc:"When it last sent anything."`
	Uses     int    `json:"uses" doc:"How many uses are in progress."`
	Restarts int    `json:"restarts" doc:"How often it was restarted after a failure."`
	Era      string `json:"era,omitempty"`
	Revision string `json:"revision,omitempty" doc:"The protocol revision used with this server."`
	Tools    *int   `json:"tools,omitempty" doc:"How many of its tools are offered."`
	Bytes    int    `json:"tool_bytes,omitempty" doc:"The size of their definitions; a token is about 4 bytes."`
	Pid      int    `json:"pid,omitempty"`
	Memory   int64  `json:"rss_bytes,omitempty" doc:"Memory of its process and the descendants, where known."`

	Unlisted []string `json:"unlisted,omitempty" doc:"Kinds of items of it that are not known, so that the lists of the gateway are partial."`

	Withheld     []WithheldItem `json:"withheld,omitempty" doc:"What it has and is not offered; the first 100."`
	WithheldMore int            `json:"withheld_more,omitempty" doc:"How many more are withheld."`
}

// A WithheldItem is a tool, prompt, resource or template of a server that is not offered.
type WithheldItem struct {
	Kind   string `json:"kind" doc:"tool, prompt, resource, resource template, skill or instructions."`
	Name   string `json:"name" doc:"As the server calls it, or its URI or URI template."`
	Reason string `json:"reason" doc:"changed, new or another (its server), since it was first used; collision (with a server that comes first) or unusable."`
	Why    string `json:"why"`
	Remedy string `json:"remedy" doc:"What the user can do about it."`
}

// maxWithheld is the maximum number of Withheld in a Status.
const maxWithheld = 100

// Statuses are the states of all servers.
type Statuses struct {
	Servers []Status `json:"servers"`
	Missing []string `json:"missing,omitempty" doc:"Servers of the profile that this gateway does not have."`
}

func (o *Options) statuses() Statuses {
	var tools, bytes map[string]int
	if o.Tools != nil {
		tools = o.Tools()
	}
	if o.ToolBytes != nil {
		bytes = o.ToolBytes()
	}
	var withheld map[string][]WithheldItem
	if o.Withheld != nil {
		withheld = o.Withheld()
	}
	all := Statuses{Servers: []Status{}}
	var unlisted map[string][]string
	if o.Unlisted != nil {
		unlisted = o.Unlisted()
	}
	for _, s := range o.Manager.Status() {
		status := Status{Unlisted: unlisted[s.ID], Server: s.ID, Session: s.Session,
			Bytes: bytes[s.ID],
			State: string(s.State),
			Since: formatTime(s.Since), Heard: formatTime(s.LastReceived), Uses: s.Uses,
			Restarts: s.Restarts, Revision: string(s.Revision)}
		if s.Err != nil {
			status.Error = s.Err.Error()
		}
		if o.Release == nil && s.Session != "" { // a client must not learn who the others are
			status.Session, status.Error = "", ""
		}
		if !s.RetryAt.IsZero() {
			status.RetryIn = max(1, int(time.Until(s.RetryAt).Round(time.Second).Seconds()))
		}
		if s.Revision != "" {
			status.Era = s.Era.String()
		}
		if o.Tools != nil {
			n := tools[s.ID]
			status.Tools = &n
		}
		if s.Process != nil {
			status.Pid, status.Memory = s.Process.Pid, Memory(s.Process.Pid)
		}
		if out := withheld[s.ID]; out != nil {
			// only once, for the first session of a server that is not shared
			status.Withheld = out[:min(maxWithheld, len(out))]
			status.WithheldMore = len(out) - len(status.Withheld)
			delete(withheld, s.ID)
		}
		all.Servers = append(all.Servers, status)
	}
	return all
}

// formatTime formats a time in RFC 3339; "" for the zero time.
func formatTime(t time.Time) string {
	if t.IsZero() {
		return ""
	}
	return t.UTC().Format(time.RFC3339)
}

// An About describes a gateway.
type About struct {
	Pid      int      `json:"pid"`
	Version  string   `json:"version"`
	Since    string   `json:"since" doc:"When it was started."`
	Dir      string   `json:"dir" doc:"Its working directory."`
	Endpoint string   `json:"endpoint" doc:"How clients reach it: a URL, or stdio."`
	Files    []string `json:"files" doc:"The configuration files whose servers it offers."`
	Profiles []string `json:"profiles" doc:"The named sets of servers."`

	Socket string `json:"socket,omitempty" doc:"A socket at which the user who runs the gateway is one of its clients."`

	Connection string `json:"connection,omitempty" doc:"The name of the connection, if this is one of stdwire connect and not a gateway."`
	Behind     string `json:"behind,omitempty" doc:"What the connection is to: a command, the id of a server or the host of a URL."`

	Costs []ProfileTools `json:"costs,omitempty" doc:"What the tools of the profiles cost a client that is shown all."`

	Clients []ClientTools `json:"clients,omitempty" doc:"What clients got with their latest list of tools."`

	Rates []RateUse `json:"rates,omitempty" doc:"The rates in effect, and what they have refused."`

	Logins []UserLogin `json:"logins,omitempty" doc:"The logins of users at servers; the first 200."`

	LoginsMore int `json:"logins_more,omitempty" doc:"How many more there are; if gateways share them, roughly."`

	Store *StoreUse `json:"store,omitempty" doc:"The store that it shares with other gateways."`

	Refusals []Refusal `json:"refusals,omitempty" doc:"The latest calls that rules have refused, the latest first."`

	Waiting []PendingChange `json:"waiting,omitempty" doc:"Changes of the files that the operator has not approved."`

	Invalid []string `json:"invalid,omitempty" doc:"Errors of the files as they are now; what they concern is ignored, and the servers stay as they were."`
}

// RateUse says what a rate has refused.
type RateUse struct {
	Rate    string `json:"rate" doc:"Its name; (server) for calls whose server had asked for a pause."`
	Limit   string `json:"limit,omitempty" doc:"What it allows."`
	Refused int64  `json:"refused" doc:"How many calls were refused since the gateway has started."`
}

// StoreUse says how a gateway uses a store.
type StoreUse struct {
	URL       string            `json:"url" doc:"Without user and password."`
	Server    string            `json:"server,omitempty" doc:"The name and version of its program."`
	Eviction  string            `json:"maxmemory_policy,omitempty" doc:"Which keys it removes when it is full, if it says so."`
	Reachable bool              `json:"reachable"`
	Since     string            `json:"since" doc:"When it became reachable, or the contrary."`
	Error     string            `json:"error,omitempty" doc:"Why it cannot be reached."`
	Parts     []string          `json:"parts" doc:"What of the gateway uses it."`
	Forwarded int64             `json:"forwarded,omitempty" doc:"How many requests were passed on to the gateways that own their sessions."`
	Affected  map[string]string `json:"affected,omitempty" doc:"The parts that do without it now, and what happens then."`
}

// A Refusal is a call that a rule has refused, or the user, whom a rule had asked.
type Refusal struct {
	At        string `json:"at"`
	Principal string `json:"principal,omitempty" doc:"Who called, as the gateway has authenticated it."`
	Server    string `json:"server"`
	Name      string `json:"name" doc:"Of the tool, prompt or resource, as the server calls it."`
	Effect    string `json:"effect" doc:"deny or ask."`
	Rule      string `json:"rule" doc:"Where the deciding rule is: its file and line."`
	Argument  string `json:"argument,omitempty" doc:"The argument that decided, as a JSON Pointer."`
	Passed    bool   `json:"passed,omitempty" doc:"The call was let through, because the rules only log."`
}

// ProfileTools says what the tools of a profile are.
type ProfileTools struct {
	Profile string `json:"profile"`
	Tools   int    `json:"tools" doc:"How many tools it offers."`
	Bytes   int    `json:"bytes" doc:"The size of their definitions; a token is about 4 bytes."`
}

// ClientTools says how the tools are listed for a client.
type ClientTools struct {
	Client      string `json:"client" doc:"Its name, as it says."`
	Version     string `json:"version,omitempty" doc:"Its version, as it says."`
	Principal   string `json:"principal,omitempty" doc:"Who it is, as the gateway has authenticated it."`
	Profile     string `json:"profile,omitempty"`
	Search      bool   `json:"search" doc:"It got tools that find and call the others."`
	Tools       int    `json:"tools" doc:"The tools that it may use."`
	Bytes       int    `json:"bytes" doc:"The size of their definitions; a token is about 4 bytes."`
	ListedBytes int    `json:"listed_bytes" doc:"The size of the definitions that it got."`
	OtherNames  int    `json:"other_names,omitempty" doc:"Tools whose names were changed for it."`
	Cut         int    `json:"cut_descriptions,omitempty" doc:"Descriptions that were cut for it."`
}
