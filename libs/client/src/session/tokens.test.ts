import { tokensInStorage } from '@parley/client'
import { expect, test } from 'vitest'

test.each(['no JSON', 'null', '"text"', '{"refreshToken":"r"}'])(
  'a stored text that is no pair of tokens, %s, counts as none',
  (text) => {
    const items = new Map([['parley.tokens', text]])
    const tokens = tokensInStorage({
      getItem: (key) => items.get(key) ?? null,
      setItem: (key, value) => void items.set(key, value),
      removeItem: (key) => void items.delete(key),
    })
    expect(tokens.read()).toBeUndefined()
    tokens.write({ accessToken: 'a', refreshToken: 'r' })
    expect(tokens.read()).toEqual({ accessToken: 'a', refreshToken: 'r' })
  },
)
