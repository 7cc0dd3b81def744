export { type App, type AppOptions, buildApp } from './app.ts'
export { timeoutWhileAwake } from './awake-timeout.ts'
export { insideAddress, isFromInside, isLocalOnly, refuseForeignHosts } from './client-origin.ts'
export { type Deps, openDeps } from './deps.ts'
export { isForm, parseForm } from './form-data.ts'
export { type Check, type Checks, databaseCheck, storageCheck } from './health.ts'
export { type Access, bearerToken, wantsCookie } from './identify.ts'
export { languageIn, languageOf } from './language.ts'
export {
  keyOfId,
  listAsJson,
  type OrderedPageRequest,
  type PageRequest,
} from './listings.ts'
export { DescribeApi } from './openapi.ts'
export {
  type RefusalForm,
  scimForm,
  scimRefusal,
  slackForm,
  slackRefusal,
  UnreadableBody,
  webhookForm,
  webhookRefusal,
} from './refusal-forms.ts'
export { logFailedSignIn, logSessionEnd, logSignIn, logSignInLimit } from './request-telemetry.ts'
export { addVary, asRefusal, ClientLeft, dropRest, refuseAs, sendJsonText, sendRefusal } from './responses.ts'
export { exposeMetrics, keepCompiledCode, onStopSignal, runService, type Service } from './run.ts'
export { clientOf } from './slow-clients.ts'
export { createTurns } from './turns.ts'
export { decodeBase64, refuseNul } from './validation.ts'
export {
  apiAddresses,
  distinguishPages,
  messageAddress,
  onlyForPages,
  pageAddresses,
  pageFiles,
  pathOf,
} from './web-pages.ts'
