package server_test

import (
	"fmt"
	"testing"
	"testing/synctest"
	"time"
)

// Related list changes are announced once, when the last caller releases them. Changes of a single
// item are announced at once.
func TestDeferListChanged(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := three(t, quiet)
		k := speak(t, s, "2025-11-25", `{}`)
		k.want("resources/subscribe", `{"uri":"x:1"}`, `{}`)
		change := func() {
			for i := range 3 {
				must(t, s.AddResource(resource(fmt.Sprintf("y:%d", i))))
				time.Sleep(time.Second)
			}
		}
		one, other := s.Integration().DeferListChanged(), s.Integration().DeferListChanged()
		change()
		s.ResourceUpdated("x:1")
		k.next().expectMethod(updated, `{"uri":"x:1"}`)
		one()
		one() // a second call of release has no effect
		change()
		k.expectNothing()
		other()
		k.next().expectMethod("notifications/resources/list_changed", "")
		time.Sleep(time.Second)
		k.expectNothing()

		s.Integration().DeferListChanged()() // without a change
		time.Sleep(time.Second)
		k.expectNothing()
	})
}
