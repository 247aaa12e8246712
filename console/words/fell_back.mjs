// Words of runs that fell back from one model to another.
import { add_words } from '../i18n.mjs';

add_words(
  {
    'fell_back.title': 'Another model took over:',
    'fell_back.more': '{count} more changes of model are not shown.',
    'fell_back.http': 'The first one answered with HTTP status {status}.',
    'fell_back.why.circuit_open': 'The first one is left out after failures.',
    'fell_back.why.budget': 'A turn of the first one does not fit into a budget.',
    'fell_back.why.credits': 'A turn of the first one costs more credits than are left.',
    'fell_back.why.key': 'The API key of the first one cannot be read.',
    'fell_back.why.input_type': 'The first one does not accept this kind of input.',
    'fell_back.why.connect': 'There was no connection to the first one.',
    'fell_back.why.silent': 'The first one did not answer in time.',
    'fell_back.why.stopped': 'The first one stopped in the middle of its answer.',
    'fell_back.why.broken_off': 'The connection to the first one broke.',
    'fell_back.why.unreadable': 'The answer of the first one could not be read.',
  },
  {
    'fell_back.title': '已改用另一个模型：',
    'fell_back.more': '另有 {count} 次模型切换未显示。',
    'fell_back.http': '前一个模型返回了 HTTP 状态 {status}。',
    'fell_back.why.circuit_open': '前一个模型多次失败，暂时停用。',
    'fell_back.why.budget': '前一个模型的一轮费用超出预算。',
    'fell_back.why.credits': '前一个模型的一轮费用超出剩余积分。',
    'fell_back.why.key': '无法读取前一个模型的 API 密钥。',
    'fell_back.why.input_type': '前一个模型不支持此类输入。',
    'fell_back.why.connect': '无法连接到前一个模型。',
    'fell_back.why.silent': '前一个模型未能及时响应。',
    'fell_back.why.stopped': '前一个模型在回答途中停止。',
    'fell_back.why.broken_off': '与前一个模型的连接中断。',
    'fell_back.why.unreadable': '前一个模型的回答无法读取。',
  },
);
