package schema
import ("testing";"strings";"time";"runtime")
func TestTmp(t *testing.T){
 for _, p := range []string{strings.Repeat("a{1000}",1000), strings.Repeat(`\p{L}{1000}`,1000), strings.Repeat(`(?:\p{L}?|b){1000}`,200), strings.Repeat("a{1000}",100), strings.Repeat(`\p{L}{1000}`,100),strings.Repeat(`(?:\p{L}?|b){1000}`,20), strings.Repeat(`(?:\p{L}|\p{Lu}x){100}`,1)} {
  var m0,m1 runtime.MemStats; runtime.ReadMemStats(&m0)
  s:=time.Now(); c:=compiler{}; q,err:=c.pattern(p); d:=time.Since(s); runtime.ReadMemStats(&m1)
  sz:=0; if q!=nil {sz=q.size}
  t.Log(p[:10], d, sz, err==nil, (m1.TotalAlloc-m0.TotalAlloc)>>20,"MiB")
 }
}
