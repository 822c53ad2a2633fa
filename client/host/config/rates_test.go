package config

import (
	"testing"
	"time"

	"gotest.tools/v3/assert"
	"gotest.tools/v3/assert/cmp"
)

func TestRates(t *testing.T) {
	text := `{"mcpServers": {}, "rates": [
		{"name": "calls", "per": ["principal", "tool"], "groups": ["staff", "ops-*"],
		 "servers": ["git*"], "tools": ["search_*"], "rate": "60/min", "burst": 20, "day": 1000,
		 "costs": {"*": 2, "search_*": 3, "search_code": 0, "search_c*": 5}, "concurrent": 4,
		 "wait": "5s"},
		{"name": "b", "rate": "1000000/day"}, {"name": "c", "concurrent": 1},
		{"name": "d", "concurrent": 1, "wait": 0}, {"name": "e", "day": 1, "per": ["group"]},
		{"name": "f", "day": 9, "replicas": 3}]}`
	f := Parse(&Environment{}, Source{Path: "/f"}, []byte(text))
	assert.Equal(t, len(f.Diagnostics), 0, f.Diagnostics)
	checkSchema(t, text, f)
	assert.DeepEqual(t, f.Rates, []Rate{
		{Name: "calls", Per: []string{"principal", "tool"}, Groups: []string{"staff", "ops-*"},
			Servers: []string{"git*"}, Tools: []string{"search_*"}, Count: 60, Every: time.Minute,
			Burst: 20, Day: 1000, Costs: []RateCost{{"search_code", 0}, {"search_c*", 5},
				{"search_*", 3}, {"*", 2}}, Concurrent: 4, Wait: 5 * time.Second},
		{Name: "b", Count: 1000000, Every: 24 * time.Hour, Burst: 1000000},
		{Name: "c", Concurrent: 1, Wait: 10 * time.Second}, {Name: "d", Concurrent: 1, Wait: -1},
		{Name: "e", Day: 1, Per: []string{"group"}}, {Name: "f", Day: 9, Replicas: 3}})
}

func TestWrongRates(t *testing.T) {
	for text, want := range map[string]string{
		`{}`:    "rates must be an array of objects, not an object",
		`["x"]`: "rates[0] must be an object, not text",
		`[{"name": "a", "rate": "1/s", "bursts": 1}]`:                   `rates[0] has no "bursts"; did you mean burst?`,
		`[{"rate": "1/s"}]`:                                             "rates[0] needs a name",
		`[{"name": "a b", "rate": "1/s"}]`:                              "rates[0].name must be 1 to 32 letters",
		`[{"name": "a"}]`:                                               "limits nothing; add a rate, day or concurrent",
		`[{"name": "a", "rate": "1/s"}, {"name": "a", "day": 1}]`:       `rates[1] would have the same name as another rate, "a"`,
		`[{"name": "a", "rate": "1/sec"}]`:                              "rates[0].rate must be a number of calls",
		`[{"name": "a", "rate": "0/s"}]`:                                "rates[0].rate must be a number of calls",
		`[{"name": "a", "rate": "1000001/s"}]`:                          "rates[0].rate must be a number of calls",
		`[{"name": "a", "rate": 60}]`:                                   "rates[0].rate must be a number of calls",
		`[{"name": "a", "rate": "1/day", "burst": 400}]`:                "refills a burst of 400 too slowly",
		`[{"name": "a", "day": 0}]`:                                     "rates[0].day must be a whole number from 1 to 1000000",
		`[{"name": "a", "day": 1.5}]`:                                   "rates[0].day must be a whole number",
		`[{"name": "a", "day": 5, "burst": 1}]`:                         "has a burst without a rate",
		`[{"name": "a", "day": 5, "wait": "1s"}]`:                       "has a wait without concurrent",
		`[{"name": "a", "concurrent": 5, "costs": {"a": 1}}]`:           "has costs that nothing limits",
		`[{"name": "a", "day": 5, "costs": {"a": 6}}]`:                  "would never allow a call that costs 6: its burst or day is 5",
		`[{"name": "a", "rate": "9/s", "burst": 2, "costs": {"a": 3}}]`: "would never allow a call that costs 3",
		`[{"name": "a", "day": 5, "costs": {"a": -1}}]`:                 "rates[0].costs.a must be a whole number from 0",
		`[{"name": "a", "day": 5, "costs": {"[a]": 1}}]`:                "only '*' and '?' are special",
		`[{"name": "a", "day": 5, "per": []}]`:                          "rates[0].per must be an array of different ones",
		`[{"name": "a", "day": 5, "per": "tool"}]`:                      "rates[0].per must be",
		`[{"name": "a", "day": 5, "per": ["user"]}]`:                    "different ones of principal, group, server, tool",
		`[{"name": "a", "day": 5, "per": ["tool", "tool"]}]`:            "different ones of",
		`[{"name": "a", "day": 5, "servers": ["{a}"]}]`:                 "only '*' and '?' are special",
		`[{"name": "a", "concurrent": 1, "wait": "61s"}]`:               "rates[0].wait must be at most 1m",
		`[{"name": "a", "day": 5, "replicas": 1001}]`:                   "rates[0].replicas must be a whole number from 1 to 1000",
		`[{"name": "a", "concurrent": 1, "replicas": 2}]`:               "has replicas that share nothing; add a rate or day",
		`[{"name": "a", "concurrent": 1, "wait": -1}]`:                  "rates[0].wait must be",
	} {
		whole := `{"mcpServers": {}, "rates": ` + text + `}`
		f := Parse(&Environment{}, Source{Path: "/f"}, []byte(whole))
		assert.Check(t, f.Err() != nil, text)
		if f.Err() != nil {
			assert.Check(t, cmp.Contains(f.Err().Error(), want))
		}
		checkSchema(t, whole, f)
	}
}

// The rates of a project's file have no effect, and of two files those of the first count.
func TestRatesOfSeveralFiles(t *testing.T) {
	c := &Config{}
	l := &loader{Config: c}
	for _, source := range []Source{{Path: "/p", Project: true}, {Path: "/one"}, {Path: "/two"}} {
		l.addFile(Parse(&Environment{}, source,
			[]byte(`{"mcpServers": {}, "rates": [{"name": "`+source.Path[1:]+`", "day": 1}]}`)))
	}
	assert.Equal(t, c.Rates[0].Name, "one")
	assert.Equal(t, c.RatesAt.File, "/one")
	assert.Equal(t, len(c.Diagnostics), 2, c.Diagnostics)
	assert.ErrorContains(t, c.Diagnostics[0], "the rates are not used: those of a project's file")
}
