import { expect, test } from 'vitest'
import { isLoopbackHost } from './loopback.ts'

test.each(['127.0.0.1', '127.8.9.1', '::1', '[::1]', 'localhost', 'LOCALHOST', 'chat.localhost', '::ffff:127.0.0.1'])(
  '%s reaches this machine only',
  (host) => {
    expect(isLoopbackHost(host)).toBe(true)
  },
)

test.each(['', '0.0.0.0', '::', '10.0.0.1', '127.example.com', '127.0.0.1.example.com', 'localhost.example.com'])(
  '%s may reach further',
  (host) => {
    expect(isLoopbackHost(host)).toBe(false)
  },
)
