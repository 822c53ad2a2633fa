package dispatch_test

import (
	"context"
	"fmt"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"gotest.tools/v3/assert"

	"github.com/stdwire/stdwire/dispatch"
)

type nothing = struct{}

func doNothing(context.Context, nothing) (nothing, error) { return nothing{}, nil }

// newOperation returns an operation that does nothing; change may alter its spec.
func newOperation(t testing.TB, name string, change ...func(*dispatch.Spec)) *dispatch.Operation {
	t.Helper()
	spec := dispatch.Spec{Name: name, Summary: "Does nothing.", Type: dispatch.Read}
	for _, fn := range change {
		fn(&spec)
	}
	op, err := dispatch.NewOperation(spec, doNothing)
	assert.NilError(t, err)
	return op
}

func operationNames(c *dispatch.Catalog) []string {
	list := []string{}
	for _, op := range c.Operations() {
		list = append(list, op.Name())
	}
	return list
}

func TestOperationsAreSortedByName(t *testing.T) {
	c := dispatch.NewCatalog()
	assert.DeepEqual(t, operationNames(c), []string{})
	assert.NilError(t, c.Register(newOperation(t, "b.y"), newOperation(t, "a"), newOperation(t, "b.x")))
	assert.NilError(t, c.Register(newOperation(t, "a.z")))
	assert.DeepEqual(t, operationNames(c), []string{"a", "a.z", "b.x", "b.y"})
	op, ok := c.Lookup("b.x")
	assert.Assert(t, ok && op.Name() == "b.x")
	op, ok = c.Lookup("a")
	assert.Assert(t, ok && op.Name() == "a")
	_, ok = c.Lookup("b")
	assert.Assert(t, !ok)
}

func TestOperationsIsOneSharedSnapshot(t *testing.T) {
	c := dispatch.NewCatalog()
	assert.NilError(t, c.Register(newOperation(t, "a.a")))
	before := c.Operations()
	assert.Assert(t, &before[0] == &c.Operations()[0])
	assert.NilError(t, c.Register(newOperation(t, "a.b")))
	assert.Equal(t, len(before), 1)
	assert.Equal(t, len(c.Operations()), 2)
}

func TestRegisterIsAllOrNone(t *testing.T) {
	c := dispatch.NewCatalog()
	assert.NilError(t, c.Register(newOperation(t, "a.a")))
	for _, tc := range []struct {
		bad  *dispatch.Operation
		want string
	}{
		{newOperation(t, "a.a"), `operation "a.a": the name is taken`},
		{newOperation(t, "a.b"), `operation "a.b": the name is taken`}, // by the first operation of the batch
		{newOperation(t, "a.c", func(s *dispatch.Spec) {
			s.Errors = []dispatch.Code{"quota_exceeded"}
		}), `operation "a.c": declares the code "quota_exceeded"`},
		{nil, "nil operation"},
	} {
		assert.ErrorContains(t, c.Register(newOperation(t, "a.b"), tc.bad, newOperation(t, "a.d")),
			tc.want)
		assert.DeepEqual(t, operationNames(c), []string{"a.a"})
	}
	assert.NilError(t, c.Register(newOperation(t, "a.b")))
}

func TestDeclaredCodesCanBeUsed(t *testing.T) {
	c := dispatch.NewCatalog()
	assert.NilError(t,
		c.Declare(dispatch.CodeInfo{Code: "quota_exceeded", HTTPStatus: 429, ExitCode: 5,
			Summary: "Too much."}))
	assert.NilError(t, c.Register(newOperation(t, "a.a", func(s *dispatch.Spec) {
		s.Errors = []dispatch.Code{"quota_exceeded", dispatch.NotFound}
	})))
	op, _ := c.Lookup("a.a")
	assert.Equal(t, op.Description(), "Does nothing.\n\nErrors: quota_exceeded, not_found")
}

func TestClosedGateHidesAnOperation(t *testing.T) {
	gated := func(gate dispatch.Gate) func(*dispatch.Spec) {
		return func(s *dispatch.Spec) { s.Gate = gate }
	}
	c := dispatch.NewCatalog(dispatch.GateWrite, "billing")
	assert.NilError(t, c.Register(newOperation(t, "a.exec", gated(dispatch.GateExec))))
	assert.NilError(t,
		c.Register(newOperation(t, "a.open"), newOperation(t, "a.write", gated(dispatch.GateWrite)),
			newOperation(t, "a.bill", gated("billing")),
			newOperation(t, "a.eval", gated(dispatch.GateEval))))
	assert.DeepEqual(t, operationNames(c), []string{"a.bill", "a.open", "a.write"})
	_, ok := c.Lookup("a.exec")
	assert.Assert(t, !ok)
	envelope := dispatch.Options{}.New(c).Dispatch(t.Context(),
		&dispatch.Call{Operation: "a.exec"})
	assert.Equal(t, envelope.Err.Code, dispatch.UnknownOperation)

	// Names are unique even behind a closed gate, so that opening the gate cannot cause a conflict.
	assert.ErrorContains(t, c.Register(newOperation(t, "a.exec")), "taken")
	assert.Equal(t, c.Remove("a.exec"), 0)
	assert.NilError(t, c.Register(newOperation(t, "a.exec")))
}

func TestCloneIsIndependent(t *testing.T) {
	c := dispatch.NewCatalog(dispatch.GateWrite)
	assert.NilError(t,
		c.Declare(dispatch.CodeInfo{Code: "teapot", HTTPStatus: 418, ExitCode: 99,
			Summary: "It is one."}))
	gated := func(gate dispatch.Gate) func(*dispatch.Spec) {
		return func(s *dispatch.Spec) { s.Gate = gate }
	}
	assert.NilError(t,
		c.Register(newOperation(t, "a"), newOperation(t, "b", gated(dispatch.GateWrite)),
			newOperation(t, "c", gated(dispatch.GateExec))))
	clone := c.Clone()
	assert.DeepEqual(t, operationNames(clone), []string{"a", "b"})
	_, declared := clone.CodeInfo("teapot")
	assert.Assert(t, declared)
	assert.ErrorContains(t, clone.Register(newOperation(t, "c")), "taken")
	assert.NilError(t, clone.Register(newOperation(t, "d")))
	c.Remove("a")
	assert.DeepEqual(t, operationNames(c), []string{"b"})
	assert.DeepEqual(t, operationNames(clone), []string{"a", "b", "d"})
}

func TestRemove(t *testing.T) {
	c := dispatch.NewCatalog()
	assert.NilError(t, c.Register(newOperation(t, "a.a"), newOperation(t, "a.b"), newOperation(t, "a.c")))
	assert.Equal(t, c.Remove("a.a", "a.c", "a.x", "a.a"), 2)
	assert.DeepEqual(t, operationNames(c), []string{"a.b"})
	assert.NilError(t, c.Register(newOperation(t, "a.a")))
}

func TestReplace(t *testing.T) {
	c := dispatch.NewCatalog()
	first, second, closed := newOperation(t, "a"), newOperation(t, "a"),
		newOperation(t, "a", func(s *dispatch.Spec) { s.Gate = dispatch.GateWrite })
	for _, op := range []*dispatch.Operation{first, second} {
		assert.NilError(t, c.Replace(op))
		now, _ := c.Lookup("a")
		assert.Assert(t, now == op)
	}
	undeclared := newOperation(t, "a", func(s *dispatch.Spec) { s.Errors = []dispatch.Code{"teapot"} })
	assert.ErrorContains(t, c.Replace(undeclared), "teapot")
	assert.ErrorContains(t, c.Replace(nil), "nil operation")
	now, _ := c.Lookup("a")
	assert.Assert(t, now == second)
	assert.NilError(t, c.Replace(closed))
	assert.DeepEqual(t, operationNames(c), []string{})
	assert.ErrorContains(t, c.Register(first), "taken")
}

func TestOnChangeIsCalledOncePerBurst(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := dispatch.NewCatalog(dispatch.GateWrite)
		var mu sync.Mutex
		var seen [][]string
		other := 0
		count := func() int {
			mu.Lock()
			defer mu.Unlock()
			return len(seen)
		}
		stop := c.OnChange(func() {
			now := operationNames(c) // would deadlock under the catalog's lock
			mu.Lock()
			defer mu.Unlock()
			seen = append(seen, now)
		})
		c.OnChange(func() {
			mu.Lock()
			defer mu.Unlock()
			other++
		})
		settle := func() { time.Sleep(time.Second); synctest.Wait() } // in the time of synctest

		for _, name := range []string{"a.a", "a.b", "a.c"} {
			assert.NilError(t, c.Register(newOperation(t, name)))
		}
		assert.Equal(t, c.Remove("a.c"), 1)
		settle()
		assert.DeepEqual(t, seen, [][]string{{"a.a", "a.b"}})

		// A change that Operations does not show calls no function.
		assert.Assert(t, c.Register(newOperation(t, "a.a")) != nil)
		assert.NilError(t, c.Register())
		assert.NilError(t, c.Register(newOperation(t, "a.exec", func(s *dispatch.Spec) {
			s.Gate = dispatch.GateExec
		})))
		c.Remove("nope")
		c.Remove("a.exec")
		settle()
		assert.Equal(t, count(), 1)

		// An endless burst does not delay the calls.
		for i := range 30 {
			assert.NilError(t, c.Register(newOperation(t, fmt.Sprint("b.op", i))))
			time.Sleep(time.Millisecond)
		}
		assert.Assert(t, count() >= 3, count())
		settle()
		before := count()
		assert.Equal(t, other, before)

		c.Remove("a.a")
		stop()
		stop()
		settle()
		assert.Equal(t, count(), before)
		assert.Equal(t, other, before+1)
	})
}

func TestAddPanicsOnAMisdeclaredOperation(t *testing.T) {
	c := dispatch.NewCatalog()
	dispatch.Add(c, dispatch.Spec{Name: "a.a", Summary: "S.", Type: dispatch.Read}, doNothing)
	for _, spec := range []dispatch.Spec{{Name: "a.a", Summary: "S.", Type: dispatch.Read},
		{Name: "a.b", Summary: "S."}} {
		func() {
			defer func() {
				assert.ErrorContains(t, recover().(error), fmt.Sprintf("operation %q", spec.Name))
			}()
			dispatch.Add(c, spec, doNothing)
			t.Fatal("Add did not panic")
		}()
	}
}

func TestRegisterAndDispatchAtTheSameTime(t *testing.T) {
	c := dispatch.NewCatalog()
	d := dispatch.Options{}.New(c)
	var ops []*dispatch.Operation
	for i := range 50 {
		ops = append(ops, newOperation(t, fmt.Sprintf("a.op%d", i)))
	}
	assert.NilError(t, c.Register(newOperation(t, "a.stays")))
	var group sync.WaitGroup
	for w := range 4 {
		group.Go(func() {
			mine := ops[w*10 : w*10+10]
			for range 20 {
				if err := c.Register(mine...); err != nil {
					t.Error(err)
				}
				removed := []string{}
				for _, op := range mine {
					removed = append(removed, op.Name())
				}
				if n := c.Remove(removed...); n != len(mine) {
					t.Errorf("removed %d of %d", n, len(mine))
				}
			}
		})
		group.Go(func() {
			for i := range 500 {
				if e := d.Dispatch(context.Background(),
					&dispatch.Call{Operation: "a.stays"}); e.Err != nil {
					t.Error(e.Err)
				}
				d.Dispatch(context.Background(), &dispatch.Call{Operation: ops[i%len(ops)].Name()})
				list := c.Operations()
				if len(list)%10 != 1 {
					t.Errorf("a reader saw part of a batch: %d operations", len(list))
				}
			}
		})
		group.Go(func() {
			for range 50 {
				c.OnChange(func() {})()
			}
		})
	}
	group.Wait()
	assert.DeepEqual(t, operationNames(c), []string{"a.stays"})
}
