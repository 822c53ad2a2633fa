package schema

import (
	"encoding/binary"
	"hash/maphash"
	"slices"
)

// equal reports whether two JSON values are equal. Numbers are compared by value, so 1, 1.0 and
// 10e-1 are equal, and objects without regard to order. It returns false when the run is out of
// steps.
func (v *run) equal(x *index, a uint32, y *index, b uint32) bool {
	if !v.step(1) || x.kind(a) != y.kind(b) {
		return false
	}
	switch x.kind(a) {
	case null:
		return true
	case boolean:
		return x.isTrue(a) == y.isTrue(b)
	case number:
		d, e := parseDecimal(x.raw(a)), parseDecimal(y.raw(b))
		return v.step((len(x.raw(a))+len(y.raw(b)))/bytesPerStep) && d.compare(&e) == 0
	case str:
		if len(x.raw(a)) != len(y.raw(b)) && !x.nodes[a].escaped && !y.nodes[b].escaped {
			return false
		}
		return v.step((len(x.raw(a))+len(y.raw(b)))/bytesPerStep) &&
			string(x.text(a)) == string(y.text(b))
	case array:
		i, j := a+1, b+1
		for ; i < x.nodes[a].next && j < y.nodes[b].next; i, j = x.nodes[i].next, y.nodes[j].next {
			if !v.equal(x, i, y, j) {
				return false
			}
		}
		return i == x.nodes[a].next && j == y.nodes[b].next
	}
	if x.count(a) != y.count(b) {
		return false
	}
	return v.holds(x, a, y, b) && v.holds(y, b, x, a)
}

// holds reports whether object b has every member of object a. The search for each name starts
// after the name found before, so that objects in the same order take one pass.
func (v *run) holds(x *index, a uint32, y *index, b uint32) bool {
	first, end := b+1, y.nodes[b].next
	at := first
	for name, value := range x.members(a) {
		text := string(x.text(name))
		started := at
		if !v.step(len(text) / bytesPerStep) {
			return false
		}
		for string(y.text(at)) != text {
			if at = y.nodes[at+1].next; at >= end {
				at = first
			}
			if at == started || !v.step(1+len(y.raw(at))/bytesPerStep) {
				return false
			}
		}
		if !v.equal(x, value, y, at+1) {
			return false
		}
		if at = y.nodes[at+1].next; at >= end {
			at = first
		}
	}
	return true
}

// hash returns the same number for equal values. The seed is that of the schema, so that nobody can
// prepare collisions.
func (v *run) hash(n uint32) uint64 {
	x := &v.doc
	cost := 1
	if k := x.kind(n); k == str || k == number {
		cost += v.stepsFor(n)
	}
	if !v.step(cost) {
		return 0
	}
	var h maphash.Hash
	h.SetSeed(v.schema.seed)
	h.WriteByte(byte(x.kind(n)))
	switch x.kind(n) {
	case boolean:
		h.WriteByte(x.data[x.nodes[n].start])
	case number:
		d := parseDecimal(x.raw(n))
		var head [9]byte
		head[0] = byte(d.sign())
		binary.LittleEndian.PutUint64(head[1:], uint64(d.pow))
		h.Write(head[:])
		h.Write(d.whole)
		h.Write(d.frac)
	case str:
		h.Write(x.text(n))
	case array:
		var part [8]byte
		for item := range x.items(n) {
			binary.LittleEndian.PutUint64(part[:], v.hash(item))
			h.Write(part[:])
		}
	case object:
		var sum uint64 // of the members' hashes, whatever their order
		for name, value := range x.members(n) {
			if !v.step(v.stepsFor(name)) {
				return 0
			}
			var member maphash.Hash
			member.SetSeed(v.schema.seed)
			member.Write(x.text(name))
			var part [8]byte
			binary.LittleEndian.PutUint64(part[:], v.hash(value))
			member.Write(part[:])
			sum += member.Sum64()
		}
		var part [8]byte
		binary.LittleEndian.PutUint64(part[:], sum)
		h.Write(part[:])
	}
	return h.Sum64()
}

// repeated returns the positions of the first two items of an array that are equal. Short arrays
// are compared pair by pair, long ones by hash.
func (v *run) repeated(n uint32) (first, second int, found bool) {
	x := &v.doc
	const short = 8
	if x.count(n) <= short {
		j := 0
		for b := range x.items(n) {
			i := 0
			for a := range x.items(n) {
				if a == b {
					break
				}
				if v.equal(x, a, x, b) {
					return i, j, true
				}
				i++
			}
			j++
		}
		return 0, 0, false
	}
	type item struct {
		hash     uint64
		position int
		node     uint32
	}
	var items []item
	for a := range x.items(n) {
		items = append(items, item{v.hash(a), len(items), a})
	}
	slices.SortFunc(items, func(a, b item) int {
		if a.hash != b.hash {
			if a.hash < b.hash {
				return -1
			}
			return 1
		}
		return a.position - b.position
	})
	for i := 1; i < len(items); i++ {
		a, b := items[i-1], items[i]
		if a.hash == b.hash && v.equal(x, a.node, x, b.node) && (!found || b.position < second) {
			first, second, found = a.position, b.position, true
		}
	}
	return first, second, found
}
