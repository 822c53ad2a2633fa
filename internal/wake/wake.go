// Package wake tells a goroutine that there is something to do, however often it is told.
package wake

// Up sends to a channel with room for one element, unless it is full: then who receives from it has
// not looked yet, and sees this, too. Up never blocks. With a nil channel it does nothing.
func Up(c chan<- struct{}) {
	select {
	case c <- struct{}{}:
	default:
	}
}
