-- SPDX-License-Identifier: GPL-2.0-only
-- Hands out the first ready key, or nothing.
local key = redis.call('LPOP', 'ready')
if not key then
	return false
end
redis.call('SADD', 'processing', key)
redis.call('SREM', 'dirty', key)
return key
