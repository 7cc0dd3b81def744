import { type Input, isConversationId, type Operation, type ParamNames, type ResponseOf } from '../requests/routes.ts'
import type { Client } from './client.ts'

type ForConversation<O> = O extends `${infer Method} /channels/:channelId${infer Rest}`
  ? Extract<Operation, `${Method} /conversations/:conversationId${Rest}`>
  : never

/** The operations of a channel that exist for a conversation too, with the same response. Both are named by the path of the channel. */
export type PlaceOperation = {
  [O in Operation]: [ForConversation<O>] extends [never]
    ? never
    : ResponseOf<ForConversation<O>> extends ResponseOf<O>
      ? O
      : never
}[Operation]

type PlaceInput<O extends Operation> = Omit<Input<O>, 'params'> &
  ([OtherParams<O>] extends [never] ? { params?: never } : { params: Record<OtherParams<O>, string> })
type OtherParams<O extends Operation> = Exclude<ParamNames<O>, 'channelId'>

/** Sends a request for a place, which is the channel or the conversation with this id. @throws RequestFailed */
export function requestForPlace<O extends PlaceOperation>(
  client: Pick<Client, 'request'>,
  operation: O,
  id: string,
  input: PlaceInput<O>,
): Promise<ResponseOf<O>> {
  // The paths of a conversation differ only in this word. The name of the parameter does not matter.
  const path = isConversationId(id) ? operation.replace('channels', 'conversations') : operation
  return client.request(path as O, { ...input, params: { ...input.params, channelId: id } } as unknown as Input<O>)
}
