package config

import (
	"fmt"
	"maps"
	"math"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/stdwire/stdwire/client/host"
	"github.com/stdwire/stdwire/internal/jsonedit"
	"github.com/stdwire/stdwire/internal/rate"
)

// A Rate is an element of rates: what limits the calls through a gateway, and whose.
type Rate struct {
	Name string // unique
	// Per says which calls share a limit: those of one principal, group, server or tool, or of one
	// combination of them; nil: all. With tool, the rate is only for tools.
	Per []string
	// Groups, Servers and Tools are patterns as in tools: which calls the rate is for; nil: all.
	Groups, Servers, Tools []string

	Count      int           // calls in Every; 0: no limit
	Every      time.Duration // positive if Count is
	Burst      int           // calls that may be made at once; positive if Count is
	Day        int           // calls of a day of UTC; 0: no limit
	Costs      []RateCost    // how many calls a call counts as; others are 1
	Concurrent int           // calls at a time; 0: no limit
	Wait       time.Duration // how long a call waits for its turn then; negative: not at all
	// Replicas is how many gateways share the rate and day in a store. Each allows its part of them
	// while that cannot be reached; 0: they allow nothing then.
	Replicas int
}

// A RateCost is the cost of the tools that a pattern matches.
type RateCost struct {
	Tools string
	Cost  int
}

const (
	maxRates     = 100
	maxRateCosts = 1000
	maxRateCount = 1_000_000
	maxRateWait  = time.Minute
	maxReplicas  = 1000
	defaultWait  = 10 * time.Second
)

var (
	ratePers = []string{"principal", "group", "server", "tool"}
	rateText = regexp.MustCompile(`^([1-9][0-9]{0,6})/(s|min|h|day)$`)
	rateUnit = map[string]time.Duration{"s": time.Second, "min": time.Minute, "h": time.Hour,
		"day": 24 * time.Hour}

	rateType = valueType{`text such as "60/min"`, object{"type": "string",
		"pattern": `^([1-9][0-9]{0,5}|1000000)/(s|min|h|day)$`}}
	persType = valueType{"array of " + strings.Join(ratePers, ", "),
		object{"type": "array", "minItems": 1, "uniqueItems": true,
			"items": object{"enum": ratePers}}}
	rateWaitType = valueType{`duration, at most "1m"; 0: not at all`, durationType.schema}
	costsType    = valueType{"object of whole numbers by patterns of tools", object{
		"type": "object", "maxProperties": maxRateCosts, "propertyNames": pattern(`^[^\[\]{}\\]+$`),
		"additionalProperties": integer(0, maxRateCount)}}
)

// rateFields returns the members of an element of rates.
func rateFields() []field[*Rate] {
	patterns := func(of func(*Rate) *[]string) func(*reader, *Rate, jsonedit.Value) {
		return func(r *reader, t *Rate, v jsonedit.Value) { *of(t) = r.readPatterns(v) }
	}
	upTo := func(most int64, of func(*Rate) *int) func(*reader, *Rate, jsonedit.Value) {
		return func(r *reader, t *Rate, v jsonedit.Value) { *of(t) = r.readCount(v, 1, most) }
	}
	number := func(of func(*Rate) *int) func(*reader, *Rate, jsonedit.Value) {
		return upTo(maxRateCount, of)
	}
	count := valueType{fmt.Sprintf("whole number from 1 to %d", maxRateCount),
		integer(1, maxRateCount)}
	return []field[*Rate]{
		{names: []string{"name"}, valueType: valueType{"text", object{"type": "string",
			"pattern": idPattern}},
			help: "What refusals, status and metrics call it: unique, and required.",
			read: func(r *reader, t *Rate, v jsonedit.Value) { t.Name = r.readRateName(v) }},
		{names: []string{"per"}, valueType: persType,
			help: "Whose calls share the limit: those of one principal, group, server or tool, or of one combination of them; without it, all calls.",
			read: func(r *reader, t *Rate, v jsonedit.Value) { t.Per = r.readPer(v) }},
		{names: []string{"groups"}, valueType: patternsType,
			help: "Patterns of groups: the rate is for callers that belong to one of them.",
			read: patterns(func(t *Rate) *[]string { return &t.Groups })},
		{names: []string{"servers"}, valueType: patternsType,
			help: "Patterns of ids of servers: the rate is for their calls; without it, also for those of stdwire's own operations.",
			read: patterns(func(t *Rate) *[]string { return &t.Servers })},
		{names: []string{"tools"}, valueType: patternsType,
			help: "Patterns of tools, by their servers' own names: the rate is for their calls; without it, also for prompts and resources.",
			read: patterns(func(t *Rate) *[]string { return &t.Tools })},
		{names: []string{"rate"}, valueType: rateType,
			help: "Calls in a second (s), min, h or day.",
			read: func(r *reader, t *Rate, v jsonedit.Value) { r.readRateText(t, v) }},
		{names: []string{"burst"}, valueType: count,
			help: "Calls that may be made at once after a pause (default: those of the rate).",
			read: number(func(t *Rate) *int { return &t.Burst })},
		{names: []string{"day"}, valueType: count,
			help: "Calls from midnight to midnight, in UTC.",
			read: number(func(t *Rate) *int { return &t.Day })},
		{names: []string{"costs"}, valueType: costsType,
			help: "How many calls one of a tool counts as, by a pattern of its name; the longest that matches counts, and 1 without one.",
			read: func(r *reader, t *Rate, v jsonedit.Value) { t.Costs = r.readCosts(v) }},
		{names: []string{"concurrent"}, valueType: count,
			help: "Calls at a time; others wait for their turn.",
			read: number(func(t *Rate) *int { return &t.Concurrent })},
		{names: []string{"wait"}, valueType: rateWaitType,
			help: `How long they wait at most (default "10s").`,
			read: func(r *reader, t *Rate, v jsonedit.Value) { t.Wait = r.readRateWait(v) }},
		{names: []string{"replicas"}, valueType: valueType{
			fmt.Sprintf("whole number from 1 to %d", maxReplicas), integer(1, maxReplicas)},
			help: "How many gateways share the rate and day with --store. While the store cannot be reached, each allows its part of them; without this member, none allows anything then.",
			read: upTo(maxReplicas, func(t *Rate) *int { return &t.Replicas })},
	}
}

func ratesSchema() object {
	element := closed(objectSchema(rateFields()))
	element["required"] = []string{"name"}
	element["anyOf"] = []object{has("rate"), has("day"), has("concurrent")}
	element["dependentRequired"] = object{"burst": []string{"rate"}, "wait": []string{"concurrent"}}
	element["dependentSchemas"] = object{"costs": has("rate", "day"),
		"replicas": has("rate", "day")}
	return object{"type": "array", "maxItems": maxRates, "items": element}
}

// readRates reads the rates of a gateway, and returns their position, zero if there are none.
func (r *reader) readRates(root jsonedit.Value) (all []Rate, at Position) {
	array, ok := root.Member("rates")
	if !ok {
		return nil, at
	}
	r.field = "rates"
	if !array.IsArray() {
		r.typeError(array, "an array of objects")
		return nil, at
	}
	at = r.position(array.Start)
	names := map[string]bool{}
	for i, v := range array.Elements() {
		if i == maxRates {
			r.errorf(v.Start, "rates has more than %d elements", maxRates)
			return all, at
		}
		prefix := fmt.Sprintf("rates[%d]", i)
		var t Rate
		if !readClosed(r, v, prefix, &t, rateFields()) {
			continue
		}
		if why := t.complete(); why != "" {
			r.errorf(v.Start, "%s %s", prefix, why)
		}
		if t.Name != "" && names[t.Name] {
			r.errorf(v.Start, "%s would have the same name as another rate, %q; change one of them",
				prefix, t.Name)
		}
		names[t.Name] = true
		all = append(all, t)
	}
	return all, at
}

// complete sets the defaults, and returns what is wrong with the members together.
func (t *Rate) complete() string {
	most, dearest := math.MaxInt, 1
	if t.Count > 0 {
		if t.Burst == 0 {
			t.Burst = t.Count
		}
		if _, err := rate.Per(t.Count, t.Every, t.Burst); err != nil {
			return fmt.Sprintf("refills a burst of %d too slowly: %v", t.Burst, err)
		}
		most = t.Burst
	}
	if t.Day > 0 {
		most = min(most, t.Day)
	}
	for _, c := range t.Costs {
		dearest = max(dearest, c.Cost)
	}
	limited := t.Count > 0 || t.Day > 0
	switch {
	case t.Name == "":
		return "needs a name"
	case !limited && t.Concurrent == 0:
		return "limits nothing; add a rate, day or concurrent"
	case t.Burst > 0 && t.Count == 0:
		return "has a burst without a rate; add the rate"
	case t.Wait != 0 && t.Concurrent == 0:
		return "has a wait without concurrent, for which calls would wait; add it"
	case t.Costs != nil && !limited:
		return "has costs that nothing limits; add a rate or day"
	case t.Replicas > 0 && !limited:
		return "has replicas that share nothing; add a rate or day"
	case dearest > most:
		return fmt.Sprintf("would never allow a call that costs %d: its burst or day is %d", dearest,
			most)
	case t.Concurrent > 0 && t.Wait == 0:
		t.Wait = defaultWait
	}
	return ""
}

func (r *reader) readRateName(v jsonedit.Value) string {
	name := r.readString(v)
	if _, isText := v.AsString(); isText && !idForm.MatchString(name) {
		r.errorf(v.Start, "%s must be 1 to 32 letters, digits, '.', '_' and '-'", r.field)
		return ""
	}
	return name
}

var idForm = regexp.MustCompile(idPattern)

func (r *reader) readPer(v jsonedit.Value) (all []string) {
	wrong := !v.IsArray() || len(v.Elements()) == 0
	for _, element := range v.Elements() {
		word, _ := element.AsString()
		wrong = wrong || !slices.Contains(ratePers, word) || slices.Contains(all, word)
		all = append(all, word)
	}
	if wrong {
		r.errorf(v.Start, "%s must be an array of different ones of %s", r.field,
			strings.Join(ratePers, ", "))
	}
	return all
}

func (r *reader) readRateText(t *Rate, v jsonedit.Value) {
	text, _ := v.AsString()
	parts := rateText.FindStringSubmatch(text)
	if parts != nil {
		t.Count, _ = strconv.Atoi(parts[1])
		t.Every = rateUnit[parts[2]]
	}
	if t.Count == 0 || t.Count > maxRateCount {
		t.Count = 0
		r.errorf(v.Start,
			`%s must be a number of calls in a second, minute, hour or day, such as "10/s", "60/min", "600/h" or "5000/day"`,
			r.field)
	}
}

// readCosts returns the costs, those of longer patterns first.
func (r *reader) readCosts(v jsonedit.Value) (all []RateCost) {
	if !v.IsObject() {
		r.typeError(v, "an object of whole numbers by patterns of tools")
		return nil
	}
	field := r.field
	costs := map[string]int{}
	for _, m := range r.members(v) {
		r.field = fmt.Sprintf("%s.%.60s", field, m.Name)
		if err := (&host.Filter{Allow: []string{m.Name}}).Check(); err != nil {
			r.errorf(m.Offset, "%s: %v", r.field, err)
		}
		costs[m.Name] = r.readCount(m.Value, 0, maxRateCount)
	}
	if len(costs) > maxRateCosts {
		r.errorf(v.Start, "%s has more than %d members", field, maxRateCosts)
	}
	for _, name := range slices.SortedFunc(maps.Keys(costs), longestFirst) {
		all = append(all, RateCost{name, costs[name]})
	}
	return all
}

// longestFirst orders patterns: names before patterns with '*' or '?', and longer ones first.
func longestFirst(a, b string) int {
	isPattern := func(s string) int {
		if strings.ContainsAny(s, "*?") {
			return 1
		}
		return 0
	}
	if c := isPattern(a) - isPattern(b); c != 0 {
		return c
	}
	if c := len(b) - len(a); c != 0 {
		return c
	}
	return strings.Compare(a, b)
}

// readRateWait reads how long calls wait; 0 becomes negative.
func (r *reader) readRateWait(v jsonedit.Value) time.Duration {
	d, ok := r.readDurationText(v)
	if ok && d > maxRateWait {
		r.errorf(v.Start, "%s must be at most %s", r.field, shortDuration(maxRateWait))
	}
	if ok && d <= 0 {
		return -1
	}
	return d
}
