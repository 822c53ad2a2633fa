package dispatch

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/stdwire/stdwire/internal/contain"
)

// A Catalog holds operations, error codes and the set of open gates. Its methods are safe for
// concurrent use. Reads take no lock, except that the first read after a change sorts the
// operations.
type Catalog struct {
	open map[Gate]bool // never changes

	mu sync.Mutex
	// all operations, by flat name; including those behind a closed gate, so that names are unique
	// whichever gates are open
	ops       map[string]*Operation
	codes     map[Code]CodeInfo
	listeners map[*listener]struct{}

	// current is the snapshot of ops and codes for readers. It is nil from a change until the next
	// read, so that registering operations one by one does not copy the list each time.
	current atomic.Pointer[snapshot]
}

type snapshot struct {
	byName map[string]*Operation
	sorted []*Operation
	codes  map[Code]CodeInfo
}

// NewCatalog returns an empty catalog with the given gates open. Gates cannot be opened or closed
// later.
func NewCatalog(open ...Gate) *Catalog {
	c := &Catalog{open: map[Gate]bool{"": true}, ops: map[string]*Operation{},
		codes: map[Code]CodeInfo{}, listeners: map[*listener]struct{}{}}
	for _, gate := range open {
		c.open[gate] = true
	}
	for _, info := range codes {
		c.codes[info.Code] = info
	}
	return c
}

// Clone returns a catalog with the same operations, codes and open gates. Later changes of one do
// not affect the other. Functions registered with OnChange are not copied.
func (c *Catalog) Clone() *Catalog {
	c.mu.Lock()
	defer c.mu.Unlock()
	return &Catalog{open: c.open, ops: maps.Clone(c.ops), codes: c.codes,
		listeners: map[*listener]struct{}{}}
}

// Declare adds an application's error codes: all of them, or none if it returns an error. It must
// be called before operations that use the codes are registered. A code can be declared again only
// with equal info.
func (c *Catalog) Declare(codes ...CodeInfo) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	added := maps.Clone(c.codes)
	for _, info := range codes {
		if err := info.check(); err != nil {
			return fmt.Errorf("dispatch: %w", err)
		}
		if known, ok := added[info.Code]; ok && known != info {
			return fmt.Errorf("dispatch: code %q is already declared with other info", info.Code)
		}
		added[info.Code] = info
	}
	c.codes = added
	c.current.Store(nil)
	return nil
}

// CodeInfo returns the description of a code and whether the catalog has it.
func (c *Catalog) CodeInfo(code Code) (CodeInfo, bool) {
	info, ok := c.snapshot().codes[code]
	return info, ok
}

// Codes returns all codes, sorted. The caller owns the slice.
func (c *Catalog) Codes() []CodeInfo {
	return slices.SortedFunc(maps.Values(c.snapshot().codes),
		func(a, b CodeInfo) int { return cmp.Compare(a.Code, b.Code) })
}

// Register adds operations: all of them, or none if it returns an error. It refuses names that are
// taken and codes that are not declared. Names that differ only in '.' and '_' clash, because a
// surface without a hierarchy, such as MCP, writes '_' for both. An operation whose gate is closed
// is checked and added, but Lookup and Operations do not return it.
func (c *Catalog) Register(ops ...*Operation) error {
	return c.change(func() (changed bool, err error) {
		for i, op := range ops {
			if err = c.check(op); err != nil {
				for _, admitted := range ops[:i] {
					delete(c.ops, admitted.flatName())
				}
				return false, err
			}
			c.ops[op.flatName()] = op
			changed = changed || c.open[op.spec.Gate]
		}
		return changed, nil
	})
}

// Replace adds an operation in place of the one with its name, atomically. Apart from that it is
// like Register. After an error the catalog is unchanged.
func (c *Catalog) Replace(op *Operation) error {
	return c.change(func() (changed bool, err error) {
		if op == nil {
			return false, c.check(op)
		}
		old := c.ops[op.flatName()]
		if old != nil && old.Name() == op.Name() {
			delete(c.ops, op.flatName())
		}
		if err = c.check(op); err == nil {
			c.ops[op.flatName()] = op
		} else if old != nil {
			c.ops[op.flatName()] = old
		}
		return err == nil && (c.open[op.spec.Gate] || old != nil && c.open[old.spec.Gate]), err
	})
}

func (c *Catalog) check(op *Operation) error {
	if op == nil {
		return errors.New("dispatch: cannot register a nil operation")
	}
	switch other, taken := c.ops[op.flatName()]; {
	case taken && other.Name() == op.Name():
		return fmt.Errorf("dispatch: operation %q: the name is taken", op.Name())
	case taken:
		return fmt.Errorf("dispatch: operation %q: the name clashes with %q: both are %s in MCP",
			op.Name(), other.Name(), op.flatName())
	}
	for _, code := range op.spec.Errors {
		if _, ok := c.codes[code]; !ok {
			return fmt.Errorf(
				"dispatch: operation %q: declares the code %q, which the catalog does not have; Declare it first",
				op.Name(), code)
		}
	}
	return nil
}

// Remove removes the operations with the given names and returns how many of them Operations
// listed. Running calls continue.
func (c *Catalog) Remove(names ...string) (removed int) {
	_ = c.change(func() (bool, error) {
		for _, name := range names {
			op := c.ops[flatName(name)]
			if op == nil || op.Name() != name {
				continue
			}
			if c.open[op.spec.Gate] {
				removed++
			}
			delete(c.ops, flatName(name))
		}
		return removed > 0, nil
	})
	return removed
}

// change runs edit under the lock and notifies the listeners if it changed the list.
func (c *Catalog) change(edit func() (changed bool, err error)) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	changed, err := edit()
	if changed {
		c.current.Store(nil)
		for l := range c.listeners {
			if l.timer == nil {
				l.timer = time.AfterFunc(changeDelay, func() { c.notify(l) })
			}
		}
	}
	return err
}

// A listener is a function that was registered with OnChange.
type listener struct {
	fn    func()
	timer *time.Timer // runs from the first change since the last call of fn
}

// changeDelay is how long listeners wait after a change, to be called once for a burst of changes.
const changeDelay = 10 * time.Millisecond

// OnChange registers fn, which is called after Register, Replace or Remove have changed the result
// of Operations: once for all changes within 10 ms of the first. fn runs on its own goroutine and
// without locks, so that it can use the catalog. A panic of fn is logged to slog.Default(). A call
// of fn that takes longer than 10 ms can overlap the next. After stop no call begins, but one that
// has begun can still run.
func (c *Catalog) OnChange(fn func()) (stop func()) {
	l := &listener{fn: fn}
	c.mu.Lock()
	defer c.mu.Unlock()
	c.listeners[l] = struct{}{}
	return func() {
		c.mu.Lock()
		defer c.mu.Unlock()
		delete(c.listeners, l)
		if l.timer != nil {
			l.timer.Stop()
		}
	}
}

func (c *Catalog) notify(l *listener) {
	c.mu.Lock()
	l.timer = nil
	_, listening := c.listeners[l]
	c.mu.Unlock()
	if !listening {
		return
	}
	if failure := contain.Run(l.fn); failure != nil {
		contain.Logger(nil).Error("a function of OnChange did not return",
			"error", failure, "stack", string(failure.Stack))
	}
}

// Lookup returns the operation with the given name.
func (c *Catalog) Lookup(name string) (*Operation, bool) {
	op, ok := c.snapshot().byName[name]
	return op, ok
}

// Operations returns all operations, sorted by name. The slice is a snapshot that callers share and
// must not change.
func (c *Catalog) Operations() []*Operation { return c.snapshot().sorted }

func (c *Catalog) snapshot() *snapshot {
	if s := c.current.Load(); s != nil {
		return s
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if s := c.current.Load(); s != nil {
		return s
	}
	s := &snapshot{byName: make(map[string]*Operation, len(c.ops)),
		sorted: make([]*Operation, 0, len(c.ops)), codes: c.codes}
	for _, op := range c.ops {
		if c.open[op.spec.Gate] {
			s.byName[op.Name()] = op
			s.sorted = append(s.sorted, op)
		}
	}
	slices.SortFunc(s.sorted, func(a, b *Operation) int { return cmp.Compare(a.Name(), b.Name()) })
	c.current.Store(s)
	return s
}

// Add makes an operation and registers it. It panics with the operation's name if the declaration
// is invalid or the name is taken, as http.ServeMux.Handle does. Use [NewOperation] and
// [Catalog.Register] for operations that are not known at compile time.
func Add[In, Out any](c *Catalog, spec Spec, fn func(context.Context, In) (Out, error)) {
	op, err := NewOperation(spec, fn)
	if err == nil {
		err = c.Register(op)
	}
	if err != nil {
		panic(err)
	}
}
