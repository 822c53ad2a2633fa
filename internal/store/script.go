package store

import "github.com/stdwire/stdwire/internal/redis"

// Numbers of Lua are exact up to 53 bits, but must be written with %.0f. A script has the time of
// the server, in microseconds.
const now = `
local time = redis.call('TIME')
local now = time[1] * 1000000 + time[2]
local function text(n) return string.format('%.0f', n) end
`

var (
	takeScript = redis.NewScript(`
local value = redis.call('GET', KEYS[1])
redis.call('DEL', KEYS[1])
return value`)

	// A lease is a hash of its number and, while somebody has it, its data.
	acquireScript = redis.NewScript(now + `
local lease = redis.call('HMGET', KEYS[1], 'fence', 'data')
if lease[2] then return {0, lease[1], lease[2]} end
local fence = now
if lease[1] then fence = math.max(now, tonumber(lease[1]) + 1) end
redis.call('HSET', KEYS[1], 'fence', text(fence), 'data', ARGV[1])
redis.call('PEXPIRE', KEYS[1], ARGV[2])
return {1, text(fence), ARGV[1]}`)

	renewScript = redis.NewScript(`
local lease = redis.call('HMGET', KEYS[1], 'fence', 'data')
if not lease[2] or lease[1] ~= ARGV[1] then return 0 end
return redis.call('PEXPIRE', KEYS[1], ARGV[2])`)

	replaceScript = redis.NewScript(now + `
local lease = redis.call('HMGET', KEYS[1], 'fence', 'data')
if not lease[2] or lease[1] ~= ARGV[1] then return '0' end
local fence = math.max(now, tonumber(lease[1]) + 1)
redis.call('HSET', KEYS[1], 'fence', text(fence), 'data', ARGV[2])
redis.call('PEXPIRE', KEYS[1], ARGV[3])
return text(fence)`)

	releaseScript = redis.NewScript(`
local lease = redis.call('HMGET', KEYS[1], 'fence', 'data')
if not lease[2] or lease[1] ~= ARGV[1] then return 0 end
local within = tonumber(ARGV[2])
if within > 0 and redis.call('PTTL', KEYS[1]) > within then return 0 end
return redis.call('HDEL', KEYS[1], 'data')`)

	// A log is a stream. An entry has the event, the bytes of all events up to it, and the number
	// of the one before it, so that all of a log is under one key.
	appendScript = redis.NewScript(now + `
local number, before, total = now, now - 1, 0
local last = redis.call('XREVRANGE', KEYS[1], '+', '-', 'COUNT', 1)[1]
if last then
	before = tonumber(string.match(last[1], '^%d+'))
	number = math.max(now, before + 1)
	total = tonumber(last[2][4])
end
total = total + #ARGV[1]
local id = text(number) .. '-0'
redis.call('XADD', KEYS[1], id, 'event', ARGV[1], 'total', text(total), 'before', text(before))
redis.call('PEXPIRE', KEYS[1], ARGV[4])
while true do
	local first = redis.call('XRANGE', KEYS[1], '-', '+', 'COUNT', 1)[1]
	local size = total - tonumber(first[2][4]) + #first[2][2]
	if first[1] == id or redis.call('XLEN', KEYS[1]) <= tonumber(ARGV[2])
		and size <= tonumber(ARGV[3]) then return text(number) end
	redis.call('XDEL', KEYS[1], first[1])
end`)

	afterScript = redis.NewScript(`
local after = tonumber(ARGV[1])
local first = redis.call('XRANGE', KEYS[1], '-', '+', 'COUNT', 1)[1]
local last = redis.call('XREVRANGE', KEYS[1], '+', '-', 'COUNT', 1)[1]
local found = {0}
if after > 0 and (not first or after < tonumber(first[2][6])) then found[1] = 1 end
if last and after > tonumber(string.match(last[1], '^%d+')) then after, found[1] = 0, 1 end
local size, from = 0, string.format('%.0f', after + 1)
while first and #found < 2 * tonumber(ARGV[2]) do
	local entry = redis.call('XRANGE', KEYS[1], from, '+', 'COUNT', 1)[1]
	if not entry then break end
	size = size + #entry[2][2]
	if #found > 1 and size > tonumber(ARGV[3]) then break end
	local number = string.match(entry[1], '^%d+')
	found[#found + 1], found[#found + 2] = number, entry[2][2]
	from = string.format('%.0f', tonumber(number) + 1)
end
return found`)

	// The arithmetic is that of rate.Limit.
	chargeScript = redis.NewScript(chargeText)
	refundScript = redis.NewScript(refundText)

	pauseScript = redis.NewScript(now + `
local state = math.max(redis.call('GET', KEYS[1]) or 0, now + ARGV[1])
redis.call('SET', KEYS[1], text(state), 'PX', text(math.ceil((state - now) / 1000)))`)
)

const chargeText = now + `
local day, most = 86400000000, 68719476736
local states, lasts, refused, longest = {}, {}, 0, 0
for i, key in ipairs(KEYS) do
	local interval, burst = tonumber(ARGV[3 * i - 1]), tonumber(ARGV[3 * i])
	local cost, state, wait = tonumber(ARGV[3 * i + 1]), tonumber(redis.call('GET', key) or 0), 0
	if burst == 0 then
		wait, lasts[i] = state - now, 0
	elseif interval == 0 then
		local today, used = math.floor(now / day), 0
		if math.floor(state / most) >= today then
			today, used = math.floor(state / most), state % most
		end
		if used + cost > burst then wait = (today + 1) * day - now end
		states[i], lasts[i] = today * most + used + cost, (today + 1) * day - now
	else
		local room = burst * interval
		local full = math.min(math.max(state, now), now + room) + cost * interval
		wait = full - now - room
		states[i], lasts[i] = full, full - now
	end
	if wait > longest then refused, longest = i - 1, wait end
end
if longest == 0 and ARGV[1] == '1' then
	for i, key in ipairs(KEYS) do
		if lasts[i] > 0 then
			redis.call('SET', key, text(states[i]), 'PX', text(math.ceil(lasts[i] / 1000)))
		end
	end
end
return {refused, text(longest), text(now)}`

const refundText = now + `
local day, most = 86400000000, 68719476736
for i, key in ipairs(KEYS) do
	local state = tonumber(redis.call('GET', key))
	local interval, cost = tonumber(ARGV[4 * i - 3]), tonumber(ARGV[4 * i - 1])
	if not state then -- it is full
	elseif interval > 0 then
		local back = math.max(0, cost * interval - math.max(0, now - ARGV[4 * i]))
		state = math.max(0, state - back)
	elseif math.floor(state / most) == math.floor(ARGV[4 * i] / day) then
		state = state - math.min(cost, state % most)
	end
	if state then redis.call('SET', key, string.format('%.0f', state), 'KEEPTTL') end
end`
