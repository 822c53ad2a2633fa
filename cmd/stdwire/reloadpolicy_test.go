package main

import (
	"testing"

	"gotest.tools/v3/assert"
	"gotest.tools/v3/assert/cmp"

	"github.com/stdwire/stdwire/cmd/stdwire/internal/commandtest"
	ops "github.com/stdwire/stdwire/cmd/stdwire/internal/ops/host"
)

// What changed rules take away is gone at once; what they may permit beyond the former ones waits
// until the user accepts it, as other changes of the configuration do.
func TestReloadOfPolicy(t *testing.T) {
	if commandtest.InOwnProcess(t) {
		return
	}
	m, path := newConfig(t, obj{"a": good()})
	text := configText(t, obj{"a": good()})
	const echo = `{"effect":"allow","what":{"tool":"echo"}}`
	const no = `{"effect":"deny","what":{"tool":"echo"},"arguments":{"/text":{"eq":"no"}}}`
	policy := func(rules string) []byte {
		return append(text[:len(text)-1:len(text)-1], `,"policy":{"rules":[`+rules+`]}}`...)
	}
	st := &stand{t: t, path: path}
	st.write(policy(echo))
	st = newStand(t, m, path)
	permits := func(argument string) bool {
		result, err := st.c.CallTool(t.Context(), "a__echo", obj{"text": argument})
		return err == nil && !result.IsError
	}
	waits := func(want bool) {
		t.Helper()
		all := st.About().Waiting
		assert.Equal(t, len(all) == 1 && all[0].Subject == ops.PendingPolicy, want, "%v", all)
	}
	assert.Check(t, permits("yes") && permits("no"))

	st.write(policy(echo + "," + no))
	st.fileChanged()
	assert.Equal(t, st.stderr.Take(), "stdwire: the configuration has changed: other rules\n")
	assert.Check(t, permits("yes") && !permits("no"))
	waits(false)

	for range 2 { // it is said once
		st.write(policy(`{"effect":"allow"}`))
		st.fileChanged()
		waits(true)
		assert.Check(t, permits("yes") && !permits("no"))
	}
	told := st.stderr.Take()
	assert.Check(t, cmp.Regexp(`^warning: .*mcp\.json:1:.*: the rules have changed, and what they `+
		"permit beyond the former ones waits: .* accepts it\n"+
		"stdwire: the configuration has changed: other rules\n$", told))

	st.write(policy(`{"effect":"allow","what":{"tool":"add"}}`)) // other things are taken away
	st.fileChanged()
	waits(true)
	assert.Check(t, !permits("yes"))
	st.write(policy(`{"effect":"allow"}`))
	st.reload()
	waits(false)
	assert.Check(t, permits("yes") && permits("no"))

	st.write(text) // without rules the last ones stay
	st.fileChanged()
	waits(false)
	assert.Check(t, cmp.Contains(st.stderr.Take(), "has no policy any more"))
	st.write(policy(no))
	st.fileChanged()
	assert.Check(t, !permits("yes"))
	waits(false)
}
