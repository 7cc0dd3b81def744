import { type Client, RequestFailed, type RequestOptions, requestForPlace } from '@parley/client'
import { t } from '../texts/texts.ts'
import { base64Of, tryToRead } from '../ui/read-file.ts'

/** The largest image that the server takes, in bytes. */
const maxImageBytes = 10 * 1024 * 1024

export async function sendFile(client: Client, file: File, options: RequestOptions): Promise<string> {
  await tryToRead(file)
  const query = { filename: file.name }
  const { attachment } = await client.request('POST /files/binary', { query, body: file, ...options })
  return attachment.filename
}

export async function sendImage(
  client: Client,
  channelId: string,
  file: File,
  options: RequestOptions,
): Promise<string> {
  // The server would refuse it only after the whole upload.
  if (file.size > maxImageBytes) throw new RequestFailed(413, t('An image has at most 10 MB'))
  const body = { filename: file.name, image: await base64Of(file) }
  const input = { body, ...options }
  return (await requestForPlace(client, 'POST /channels/:channelId/messages/image', channelId, input)).filename
}
