import { describe, expect, test } from 'vitest'
import { takeFlag } from './index.ts'
import { faultsOf, load } from './load.testing.ts'

describe('flags', () => {
  test.each([
    ['after an equals sign', ['--log.level=warn'], 'warn'],
    ['as the next word', ['--log.level', 'warn'], 'warn'],
    ['the last of several', ['--log.level=debug', '--log.level=warn'], 'warn'],
  ])('a value %s', async (_, argv, level) => {
    expect((await load({ argv })).log.level).toBe(level)
  })

  test('a switch needs no value, and accepts only true or false', async () => {
    expect((await load({ argv: ['--server.reusePort', '--server.port=1'] })).server.reusePort).toBe(true)
    expect((await load({ argv: ['--rateLimit.enabled', 'false'] })).rateLimit.enabled).toBe(false)
  })

  test('lists: with commas or as JSON', async () => {
    const realtime = ['http://a:1', 'http://b:2']
    for (const text of [realtime.join(','), JSON.stringify(realtime)]) {
      expect((await load({ argv: [`--gateway.upstreams.realtime=${text}`] })).gateway.upstreams.realtime).toEqual(
        realtime,
      )
    }
  })

  test('--initialUserPassword', async () => {
    const { chat } = await load({
      argv: ['--initialUserPassword=from the flag'],
      env: { INITIAL_USER_PASSWORD: 'from a variable' },
    })
    expect(chat.initialUser.password).toBe('from the flag')
  })

  test.each([
    ['--auth.authmode=dev', '--auth.authmode', 'is not a flag. Did you mean --auth.authMode?'],
    ['--verbose', '--verbose', 'is not a flag.'],
    ['--log.level', 'log.level', 'needs a value (flag --log.level)'],
    ['--config', 'config', 'needs a value (flag --config)'],
    ['start', 'command line', 'argument 1 is not a flag'],
  ])('%s is a fault', async (argument, key, message) => {
    expect(await faultsOf({ argv: [argument] })).toEqual([{ key, message }])
  })
})

test('a launcher removes its own flag from the command line', () => {
  expect(takeFlag('replicas', ['--replicas', '3', '--log.level=warn'])).toEqual({
    value: '3',
    rest: ['--log.level=warn'],
  })
  expect(takeFlag('replicas', ['--replicas=3'])).toEqual({ value: '3', rest: [] })
  expect(takeFlag('replicas', ['--replicas'])).toEqual({ value: '', rest: [] })
  expect(takeFlag('replicas', ['--replica=3'])).toEqual({ value: undefined, rest: ['--replica=3'] })
})
