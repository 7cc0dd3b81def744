export { type FailureReason, RequestFailed } from './request-failed.ts'
export {
  createRequester,
  type OutboundReply,
  type OutboundRequest,
  type Requester,
  type RequesterOptions,
} from './requester.ts'
