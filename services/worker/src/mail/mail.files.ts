import { mkdir, open, rename } from 'node:fs/promises'
import { join } from 'node:path'
import type { JobData } from '@parley/contract'
import { uuidv7 } from '@parley/database'
import { createTransport } from 'nodemailer'

export type Mail = JobData<'send-mail'>

/** One address and nothing else: a text would be read as a header, which may hold names, comments and several addresses. */
export const recipient = (address: string) => ({ name: '', address })

/**
 * Writes a mail to `<dataDir>/mail/<id>.eml`, ids in order of time. It holds sign-in links, so only its owner may read it;
 * it is there whole or not at all. The text is left as it is (8bit), to be read without a mail program.
 */
export async function writeMail(
  dataDir: string,
  { from, messageId, to, subject, text, html }: Mail & { from: { name: string; address: string }; messageId: string },
): Promise<void> {
  const composer = createTransport({ streamTransport: true, buffer: true, newline: 'unix' })
  const readable = (subtype: string, content: string) => ({
    contentType: `text/${subtype}; charset=utf-8`,
    content,
    contentTransferEncoding: '8bit' as const,
  })
  const alternatives = [readable('plain', text), ...(html === undefined ? [] : [readable('html', html)])]
  const { message } = await composer.sendMail({ from, to: recipient(to), subject, messageId, alternatives })

  const folder = join(dataDir, 'mail')
  await mkdir(folder, { recursive: true, mode: 0o700 })
  const name = uuidv7()
  const draft = join(folder, `.${name}.draft`)
  const file = await open(draft, 'wx', 0o600)
  try {
    await file.writeFile(message as Buffer)
    await file.sync()
  } finally {
    await file.close()
  }
  await rename(draft, join(folder, `${name}.eml`))
}
