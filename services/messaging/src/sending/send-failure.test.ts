import { expect, test } from 'vitest'
import { sendFailure } from './send-failure.ts'

test.each([
  ['lost', { code: 'ECONNRESET' }],
  ['lost', new Error('Connection terminated unexpectedly')],
  ['lost', { severity: 'FATAL', code: '57P01' }],
  ['lost', { severity: 'PANIK', code: 'XX000' }],
  ['transient', { severity: 'ERROR', code: '57014' }],
  ['transient', { severity: 'ERROR', code: '25006' }],
  ['transient', { severity: 'FEHLER', code: '40P01' }],
  ['overtaken', { severity: 'FEHLER', code: '23505', constraint: 'idempotency_keys_pkey' }],
  ['refused', { severity: 'ERROR', code: 'XX000' }],
  ['refused', { severity: 'FEHLER', code: '22021' }],
])('the failure is %s after %o', (failure, error) => expect(sendFailure(error)).toBe(failure))
