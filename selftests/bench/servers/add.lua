-- SPDX-License-Identifier: GPL-2.0-only
-- Marks a key as in need of processing: 0 ready, 1 was so already, 2 when it is done.
if redis.call('SADD', 'dirty', ARGV[1]) == 0 then
	return 1
end
if redis.call('SISMEMBER', 'processing', ARGV[1]) == 1 then
	return 2
end
redis.call('RPUSH', 'ready', ARGV[1])
return 0
