import { readFile } from 'node:fs/promises'
import { createInterface } from 'node:readline/promises'
import { Writable } from 'node:stream'
import { text } from 'node:stream/consumers'
import { lengthOf, limits } from '@parley/contract'
import { Refused } from './command.ts'

/**
 * A new password: from the file, else typed twice without being shown, else from standard input when that is no terminal. One
 * newline at its end is dropped. It never stands on a command line, where every user of the machine can read it.
 * @throws Refused when it is too short or too long, or the two differ.
 */
export async function readNewPassword(file: string | undefined): Promise<string> {
  const password = await readOnce(file)
  const { shortestPassword, password: longest } = limits
  if (lengthOf(password) < shortestPassword)
    throw new Refused(`the password must have at least ${shortestPassword} characters`)
  if (lengthOf(password) > longest)
    throw new Refused(`the password must have at most ${longest.toLocaleString('en')} characters`)
  if (/[\0\r\n]/.test(password)) throw new Refused('the password must be one line of text')
  return password
}

async function readOnce(file: string | undefined): Promise<string> {
  if (file !== undefined) return (await readFile(file, 'utf8')).replace(/\r?\n$/, '')
  if (!process.stdin.isTTY) return (await text(process.stdin)).replace(/\r?\n$/, '')
  const password = await ask('Password: ')
  if ((await ask('Once more: ')) !== password) throw new Refused('the two passwords differ')
  return password
}

/** The terminal echoes into nothing. */
async function ask(question: string): Promise<string> {
  const nothing = new Writable({ write: (_chunk, _encoding, done) => done() })
  const lines = createInterface({ input: process.stdin, output: nothing, terminal: true })
  const left = new AbortController()
  lines.on('SIGINT', () => left.abort())
  lines.on('close', () => left.abort())
  process.stderr.write(question)
  try {
    return await lines.question('', { signal: left.signal })
  } catch {
    throw new Refused('nothing was changed')
  } finally {
    lines.close()
    process.stderr.write('\n')
  }
}
