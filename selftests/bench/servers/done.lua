-- SPDX-License-Identifier: GPL-2.0-only
-- Ends the processing of a key: 0, or 1 if it was added meanwhile and is ready again.
if redis.call('SREM', 'processing', ARGV[1]) == 0 then
	return redis.error_reply('nobody is processing it')
end
if redis.call('SISMEMBER', 'dirty', ARGV[1]) == 0 then
	return 0
end
redis.call('RPUSH', 'ready', ARGV[1])
return 1
